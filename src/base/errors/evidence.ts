// Errors of evidence: its key, and the heads of the audit. Part of the table in errors.ts.
import { EXIT, errorRows } from './exit-codes.ts'

export const EVIDENCE_ERRORS = errorRows({
  EVIDENCE_KEY_MISSING: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'This API has no key to sign evidence with. Create one with "openssl genpkey -algorithm ed25519" and set MATOOLKIT_EVIDENCE_KEY to it, for every API the same.',
  },
  EVIDENCE_KEY_UNUSABLE: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'Cannot use the evidence key in {place}: {reason}. It must be an Ed25519 key as PEM, for its owner only; create one with "openssl genpkey -algorithm ed25519".',
  },
  AUDIT_HEADS_UNSENT: {
    http: 500,
    exit: EXIT.failed,
    sentence:
      'Cannot write the heads of the audit to "{place}": {reason}. Correct the place, or set MATOOLKIT_AUDIT_HEADS_FILE to another; the heads wait until then.',
  },
})
