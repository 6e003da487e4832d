// The sandbox's own certificate authority, for https: Microsoft's clients refuse to sign in over plain http. The authority and its key live
// as long as the process; clients trust it by its certificate, for example through NODE_EXTRA_CA_CERTS.
import { generateKeyPair, randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import { promisify } from 'node:util'
import type { pki as Pki } from 'node-forge'

export interface Authority {
  /** PEM. Clients that trust it trust the sandbox. */
  readonly certificate: string
  /** For the server, PEM. */
  readonly server: { readonly key: string; readonly cert: string }
}

const DAY_MS = 24 * 3_600_000
const makeKeys = promisify(generateKeyPair)

/** A certificate for these hosts, and the authority that signed it. */
export async function makeAuthority(hosts: readonly string[], now: Date): Promise<Authority> {
  const { default: forge } = await import('node-forge')
  const { pki, md } = forge
  const keyPem = async () => {
    const { privateKey } = await makeKeys('rsa', { modulusLength: 2048 })
    return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  }
  const issue = (key: string, name: string, issuer: Pki.Certificate | null, signer: string) => {
    const own = pki.privateKeyFromPem(key)
    const certificate = pki.createCertificate()
    certificate.publicKey = pki.setRsaPublicKey(own.n, own.e)
    // The first bit would make it negative.
    certificate.serialNumber = `01${randomBytes(15).toString('hex')}`
    // The clients' clocks are real, whatever the sandbox's clock says.
    certificate.validity.notBefore = new Date(+now - DAY_MS)
    certificate.validity.notAfter = new Date(+now + 90 * DAY_MS)
    certificate.setSubject([{ name: 'commonName', value: name }])
    certificate.setIssuer(issuer ? issuer.subject.attributes : certificate.subject.attributes)
    certificate.setExtensions(
      issuer ? serverExtensions(hosts) : [{ name: 'basicConstraints', cA: true, critical: true }],
    )
    certificate.sign(pki.privateKeyFromPem(signer), md.sha256.create())
    return certificate
  }
  const [rootKey, serverKey] = [await keyPem(), await keyPem()]
  const root = issue(rootKey, 'matoolkit sandbox authority', null, rootKey)
  const server = issue(serverKey, 'matoolkit sandbox', root, rootKey)
  return {
    certificate: pki.certificateToPem(root),
    server: { key: serverKey, cert: pki.certificateToPem(server) },
  }
}

const NAME = 2
const ADDRESS = 7

const serverExtensions = (hosts: readonly string[]): object[] => [
  { name: 'basicConstraints', cA: false },
  { name: 'extKeyUsage', serverAuth: true },
  {
    name: 'subjectAltName',
    altNames: hosts.map((host) =>
      isIP(host) > 0 ? { type: ADDRESS, ip: host } : { type: NAME, value: host },
    ),
  },
]
