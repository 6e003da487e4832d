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
      'The worker cannot start: {problems} Correct the settings and start again; docs/worker.md describes them.',
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
  WORKER_API_NOT_CONFIGURED: {
    http: 500,
    exit: EXIT.usage,
    sentence: 'MATOOLKIT_TRANSPORT is "https", but {problem} See docs/bus.md.',
  },
  WORKER_API_UNREACHABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The API at {url} did not do as the worker asked: {reason}. It is tried again; check MATOOLKIT_API_URL, the network and the proxy.',
  },
  WORKER_CREDENTIAL_REFUSED: {
    http: 503,
    exit: EXIT.notSignedIn,
    sentence:
      'The API at {url} refuses the credential of this worker: {reason} Run "matoolkit worker credential list" to see those that are valid; it is tried again.',
  },
  WORKER_CREDENTIAL_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'Worker "{workerId}" has no credential "{credentialId}". List them with "matoolkit worker credential list".',
  },
  WORKER_CREDENTIAL_ENDED: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'The credential "{credentialId}" has ended, so nothing can replace it. Create another with "matoolkit worker credential create {workerId}".',
  },
  WORKER_CREDENTIALS_FULL: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'Worker "{workerId}" has {limit} valid credentials already. Run "matoolkit worker credential list" and revoke those that are not used.',
  },
  WORKER_CERTIFICATE_TAKEN: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'The certificate {thumbprint} is a credential already. Use another: each proves one worker only.',
  },
  WORKER_CERTIFICATE_UNFIT: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'The certificate cannot be a credential: {reason}. Send one certificate in PEM, without its private key.',
  },
  WORKER_IS_ANOTHER: {
    http: 403,
    exit: EXIT.notAllowed,
    sentence:
      'The credential is of worker "{workerId}", not of "{named}". Set MATOOLKIT_WORKER_ID or the credential right.',
  },
  LEASE_OF_ANOTHER: {
    http: 403,
    exit: EXIT.notAllowed,
    sentence: 'A lease is not of worker "{workerId}". Send only leases that it was given.',
  },
  RESULT_OF_ANOTHER: {
    http: 403,
    exit: EXIT.notAllowed,
    sentence:
      'Message {messageId} names the worker "{named}", but the credential is of "{workerId}". Send results in its own name.',
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
