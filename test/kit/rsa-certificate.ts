// A self-signed RSA certificate with its key, created on demand: as PEM, as PFX by OpenSSL, and as PFX by Windows.
import { createHash, generateKeyPairSync, X509Certificate } from 'node:crypto'
import forge from 'node-forge'

export interface RsaCertificate {
  readonly keyPem: string
  readonly certPem: string
  readonly thumbprint: string
  pfx(password: string, algorithm: 'aes256' | '3des'): Buffer
}

export function rsaCertificate(): RsaCertificate {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const keyPem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const key = forge.pki.privateKeyFromPem(keyPem)
  const cert = forge.pki.createCertificate()
  cert.publicKey = forge.pki.setRsaPublicKey(key.n, key.e)
  cert.serialNumber = '01'
  cert.validity.notBefore = new Date('2025-01-01T00:00:00Z')
  cert.validity.notAfter = new Date('2045-01-01T00:00:00Z')
  const name = [{ name: 'commonName', value: 'matoolkit worker' }]
  cert.setSubject(name)
  cert.setIssuer(name)
  cert.sign(key, forge.md.sha256.create())
  const certPem = forge.pki.certificateToPem(cert)
  return {
    keyPem,
    certPem,
    thumbprint: createHash('sha256').update(new X509Certificate(certPem).raw).digest('base64url'),
    pfx: (password, algorithm) => {
      const asn1 = forge.pkcs12.toPkcs12Asn1(key, [cert], password, { algorithm })
      return Buffer.from(forge.asn1.toDer(asn1).getBytes(), 'binary')
    },
  }
}
