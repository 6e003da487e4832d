// The settings of evidence packs: the key that signs them. Part of the table in src/base/settings/config.ts.
import { aPath, aText, setting } from './kinds.ts'

export const EVIDENCE_SETTINGS = {
  evidenceKey: setting<string | null>('MATOOLKIT_EVIDENCE_KEY', aText, {
    default: null,
    defaultShown: 'none: the key of the file',
    description:
      'The key that signs evidence packs: Ed25519 as PEM (PKCS #8), the same for every API. See docs/security.md.',
    secret: true,
  }),
  evidenceKeyFile: setting<string | null>('MATOOLKIT_EVIDENCE_KEY_FILE', aPath, {
    default: null,
    defaultShown: '`evidence-key.pem` next to the local API token',
    description:
      'File with that key. On one machine it is created at first use; with an issuer, one of the two settings is needed for a pack.',
  }),
}
