// The key that signs evidence packs: Ed25519, as a PEM text (PKCS #8). On one machine it is created at first use and kept like other
// private files; several processes get the same one by a setting, because a key that each makes for itself proves nothing.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import {
  isPrivateFile,
  requirePrivateFolder,
  writePrivateFile,
} from '../../base/files/private-files.ts'

const KEY_FILE_SETTING = 'MATOOLKIT_EVIDENCE_KEY_FILE'

export interface SigningKey {
  readonly publicKeyPem: string
  /** SHA-256 of the public key (SPKI, DER). */
  readonly fingerprint: string
  /** 64 bytes. */
  sign(bytes: Uint8Array): Buffer
}

export interface KeySettings {
  /** The key itself. */
  readonly evidenceKey: string | null
  /** Null: next to the local token. */
  readonly evidenceKeyFile: string | null
  readonly apiTokenFile: string
}

/**
 * The key of the settings. Without one, `mayCreate` creates it in its file; otherwise throws EVIDENCE_KEY_MISSING. Throws
 * EVIDENCE_KEY_UNUSABLE for one that is none, or that others can read.
 */
export function openSigningKey(
  { evidenceKey, evidenceKeyFile, apiTokenFile }: KeySettings,
  mayCreate: boolean,
): SigningKey {
  if (evidenceKey !== null) return keyIn(evidenceKey, 'MATOOLKIT_EVIDENCE_KEY')
  const file = evidenceKeyFile ?? join(dirname(apiTokenFile), 'evidence-key.pem')
  if (!existsSync(file)) {
    if (!mayCreate) throw new MatoolkitError('EVIDENCE_KEY_MISSING', {})
    requirePrivateFolder(dirname(file), { setting: KEY_FILE_SETTING, mayBeListed: true })
    const { privateKey } = generateKeyPairSync('ed25519')
    writePrivateFile(file, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  }
  const place = resolve(file)
  if (!isPrivateFile(file)) throw unusable(place, 'other users can use it, or it is a link')
  return keyIn(readFileSync(file, 'utf8'), place)
}

function keyIn(text: string, place: string): SigningKey {
  let key: KeyObject
  try {
    // A setting of one line has its line ends written out.
    key = createPrivateKey(text.replaceAll('\\n', '\n'))
  } catch (error) {
    throw unusable(place, messageOf(error))
  }
  if (key.asymmetricKeyType !== 'ed25519')
    throw unusable(place, `it is a key of type ${key.asymmetricKeyType}`)
  const publicKey = createPublicKey(key)
  return {
    publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    fingerprint: fingerprintOf(publicKey),
    sign: (bytes) => sign(null, bytes, key),
  }
}

const unusable = (place: string, reason: string) =>
  new MatoolkitError('EVIDENCE_KEY_UNUSABLE', { place, reason })

export const fingerprintOf = (publicKey: KeyObject): string =>
  createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex')
