// Certificates: every format, and what is wrong with unusable ones.
import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import { describe, it } from 'node:test'
import { jwtVerify } from 'jose'
import {
  assertionOf,
  CertificateFault,
  readCertificate,
} from '../../../src/base/sign-in/certificate.ts'
import { rsaCertificate } from '../../kit/rsa-certificate.ts'
import { selfSigned } from '../../scheduler/sources/certificate.ts'

const own = rsaCertificate()
const other = rsaCertificate()
const now = new Date('2026-03-01T10:00:00Z')

const read = (given: string | Buffer, password = '') =>
  readCertificate({ bytes: Buffer.from(given), password })

describe('reading a certificate', () => {
  const GOOD: [what: string, bytes: string | Buffer, password?: string][] = [
    ['PEM, key first', own.keyPem + own.certPem],
    ['PEM, certificate first', own.certPem + own.keyPem],
    ['PEM with other certificates first', own.keyPem + other.certPem + own.certPem],
    ['PFX as OpenSSL writes it', own.pfx('', 'aes256')],
    ['PFX as Windows writes it', own.pfx('', '3des')],
    ['PFX with a password', own.pfx('päss', 'aes256'), 'päss'],
  ]
  for (const [what, bytes, password] of GOOD) {
    it(what, async () => {
      const certificate = await read(bytes, password)
      assert.equal(certificate.thumbprint, own.thumbprint)
      assert.equal(certificate.certificate.validToDate.toISOString(), '2045-01-01T00:00:00.000Z')
    })
  }

  const { key: ecKey, cert: ecCert } = selfSigned()
  const BAD: [what: string, bytes: string | Buffer, says: RegExp][] = [
    ['no private key', own.certPem, /contains no private key/],
    ['no certificate', own.keyPem, /no certificate for its private key/],
    ['another certificate', own.keyPem + other.certPem, /no certificate for its/],
    ['an elliptic key', ecKey + ecCert, /has the type ec; use an RSA key/],
    ['a wrong password', own.pfx('right', 'aes256'), /cannot be read/],
    ['something else', 'hunter2 is no certificate', /cannot be read/],
    ['nothing', '', /cannot be read/],
  ]
  for (const [what, bytes, says] of BAD) {
    it(`refuses ${what} without quoting it`, async () => {
      await assert.rejects(read(bytes), (error: Error) => {
        assert.ok(error instanceof CertificateFault)
        assert.match(error.message, says)
        assert.doesNotMatch(error.message, /hunter2|BEGIN/)
        return true
      })
    })
  }
})

describe('an assertion', () => {
  it('names issuer and audience, lasts ten minutes, and is signed as Entra requires', async () => {
    const certificate = await read(own.keyPem + own.certPem)
    const audience = 'https://login.microsoftonline.com/t/oauth2/v2.0/token'
    const assertion = await assertionOf(certificate, { clientId: 'app-1', audience, now })
    const key = createPublicKey(own.certPem)
    const options = { issuer: 'app-1', subject: 'app-1', audience, currentDate: now }
    const { payload, protectedHeader } = await jwtVerify(assertion, key, options)
    assert.deepEqual(protectedHeader, { alg: 'PS256', typ: 'JWT', 'x5t#S256': own.thumbprint })
    assert.deepEqual([payload.nbf, payload.exp! - payload.nbf!], [+now / 1_000, 600])
    const again = await assertionOf(certificate, { clientId: 'app-1', audience, now })
    assert.notEqual((await jwtVerify(again, key, options)).payload.jti, payload.jti)
  })

  it('never reveals its key', async () => {
    const certificate = await read(own.keyPem + own.certPem)
    assert.doesNotMatch(JSON.stringify(certificate), /PRIVATE|"d"/)
  })
})
