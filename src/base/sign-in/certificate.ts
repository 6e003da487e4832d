// A certificate that proves an app's identity: read from PEM or PFX, used to sign assertions for Microsoft Entra ID. The
// private key lives in a KeyObject, which prints nothing and is never written to disk.
import {
  createHash,
  createPrivateKey,
  type KeyObject,
  randomUUID,
  X509Certificate,
} from 'node:crypto'
import { SignJWT } from 'jose'
import { messageOf } from '../errors/errors.ts'

export interface SigningCertificate {
  /** SHA-256 of the certificate in base64url, by which Entra finds it. */
  readonly thumbprint: string
  readonly key: KeyObject
  readonly certificate: X509Certificate
}

/** The content of a file or vault secret. */
export interface CertificateSource {
  readonly bytes: Buffer
  /** Password of a PFX; Key Vault's have none. */
  readonly password: string
}

/** The message never quotes the content: it may be the key. */
export class CertificateFault extends Error {
  override readonly name = 'CertificateFault'
}

const PEM_MARK = '-----BEGIN '
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** Reads PEM (key and certificate in one text) or PFX. Throws a CertificateFault. */
export async function readCertificate({
  bytes,
  password,
}: CertificateSource): Promise<SigningCertificate> {
  try {
    const { key, certificates } = bytes.includes(PEM_MARK)
      ? fromPem(bytes.toString('utf8'), password)
      : await fromPfx(bytes, password)
    return matching(key, certificates)
  } catch (error) {
    if (error instanceof CertificateFault) throw error
    throw new CertificateFault(`it cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

interface Parts {
  readonly key: KeyObject
  readonly certificates: readonly X509Certificate[]
}

function fromPem(text: string, password: string): Parts {
  const certificates = text.match(PEM_CERTIFICATE) ?? []
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text))
    throw new CertificateFault('it contains no private key')
  return {
    key: createPrivateKey({ key: text, format: 'pem', passphrase: password }),
    certificates: certificates.map((pem) => new X509Certificate(pem)),
  }
}

/** Node reads PFX only for TLS and exposes no key, so a library parses it; loaded on demand. */
async function fromPfx(bytes: Buffer, password: string): Promise<Parts> {
  const { default: forge } = await import('node-forge')
  const asn1 = forge.asn1.fromDer(bytes.toString('binary'))
  const pfx = forge.pkcs12.pkcs12FromAsn1(asn1, password)
  const bags = (type: string) => pfx.getBags({ bagType: type })[type] ?? []
  const der = (node: ReturnType<typeof forge.asn1.fromDer>) =>
    Buffer.from(forge.asn1.toDer(node).getBytes(), 'binary')
  const { pkcs8ShroudedKeyBag, keyBag, certBag } = forge.pki.oids as Record<string, string>
  const [keyInside] = [...bags(pkcs8ShroudedKeyBag!), ...bags(keyBag!)]
  if (!keyInside) throw new CertificateFault('it contains no private key')
  const keyAsn1 = keyInside.key
    ? forge.pki.wrapRsaPrivateKey(forge.pki.privateKeyToAsn1(keyInside.key))
    : keyInside.asn1
  return {
    key: createPrivateKey({ key: der(keyAsn1), format: 'der', type: 'pkcs8' }),
    certificates: bags(certBag!).map(
      ({ cert, asn1: raw }) =>
        new X509Certificate(der(cert ? forge.pki.certificateToAsn1(cert) : raw)),
    ),
  }
}

/** The file may contain a chain; ours is the certificate of the key. */
function matching(key: KeyObject, certificates: readonly X509Certificate[]): SigningCertificate {
  const own = certificates.find((certificate) => certificate.checkPrivateKey(key))
  if (!own) throw new CertificateFault('it contains no certificate for its private key')
  if (key.asymmetricKeyType !== 'rsa')
    throw new CertificateFault(
      `its key has the type ${key.asymmetricKeyType}; use an RSA key, which Entra requires`,
    )
  return {
    thumbprint: createHash('sha256').update(own.raw).digest('base64url'),
    key,
    certificate: own,
  }
}

/** An assertion is used at once; ten minutes allow for clock skew. */
const ASSERTION_LIFE_SEC = 600

export function assertionOf(
  { thumbprint, key }: SigningCertificate,
  to: {
    readonly clientId: string
    readonly audience: string
    readonly now: Date
  },
): Promise<string> {
  const nowSec = Math.floor(+to.now / 1_000)
  return new SignJWT()
    .setProtectedHeader({ alg: 'PS256', typ: 'JWT', 'x5t#S256': thumbprint })
    .setIssuer(to.clientId)
    .setSubject(to.clientId)
    .setAudience(to.audience)
    .setJti(randomUUID())
    .setNotBefore(nowSec)
    .setIssuedAt(nowSec)
    .setExpirationTime(nowSec + ASSERTION_LIFE_SEC)
    .sign(key)
}
