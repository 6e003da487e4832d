// Errors of workers: their identity, credentials, secrets and functions. Part of the table in errors.ts.
import { EXIT, errorRows } from './exit-codes.ts'

export const WORKER_ERRORS = errorRows({
  WORKER_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'There is no worker "{workerId}". List the workers with "matoolkit worker list".',
  },
  FUNCTION_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'There is no function "{name}". {hint} Run "matoolkit function list" to see them all.',
  },
  WORKER_NOT_CONFIGURED: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'The worker cannot start: {problems} Correct the settings and start again; docs/operating.md describes them.',
  },
  FUNCTIONS_UNUSABLE: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'The worker does not start, because it might run another function than you mean. {problems} Correct the folder "{folder}" until "matoolkit function list --folder" finds no fault.',
  },
  WORKER_CERTIFICATE_UNUSABLE: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'The certificate in {place} is unusable: {reason}. Use a PEM or PFX with its private key, registered with the app in the tenant.',
  },
  WORKER_SIGN_IN_FAILED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The worker cannot sign in to tenant {tenantId}: {reason}. Check the app, its credential and its consent in that tenant.',
  },
  SECRETS_UNUSABLE: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'The secrets folder "{folder}" is unusable: {reason}. Correct it, or set MATOOLKIT_SECRETS_FOLDER to another.',
  },
  SECRET_UNREADABLE: {
    http: 500,
    exit: EXIT.failed,
    sentence:
      'Cannot decrypt the secret "{reference}": it was stored with another key, or was changed. Restore MATOOLKIT_SECRETS_KEY, or store the secret again.',
  },
})
