// Errors of rehearsals and the sandbox in which they run. Part of the table in errors.ts.
import { EXIT, errorRows } from './exit-codes.ts'

export const REHEARSAL_ERRORS = errorRows({
  SANDBOX_SEED_INVALID: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'The sandbox seed "{file}" is invalid: {reason}. Correct it; docs/rehearsal.md describes its format.',
  },
  SANDBOX_FAULTS_INVALID: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'The sandbox faults "{faults}" are invalid: {reason}. Correct them; docs/rehearsal.md describes their format.',
  },
  SANDBOX_RECORDING_INVALID: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'The recording "{file}" is invalid: {reason}. Make it with "matoolkit doctor tenant --record <file>".',
  },
  REHEARSAL_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'There is no rehearsal {id}: only the newest ones are kept. List them with GET /api/rehearsals.',
  },
  REHEARSAL_RUNNING: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'Rehearsal {id} is still running here, and one runs at a time. Wait for its end, or cancel it.',
  },
  REHEARSAL_UNAVAILABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence: 'This process runs no rehearsals. Use "matoolkit runbook rehearse" instead.',
  },
  REHEARSAL_BATCH_UNFIT: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'Batch {batchId} cannot be rehearsed: {reason}. Run "matoolkit runbook rehearse" with its runbook and a member file.',
  },
  REHEARSAL_FAULTS_INVALID: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'These faults cannot be rehearsed: {reason}. Name some of {known}, or a JSON file as in docs/rehearsal.md.',
  },
  REHEARSAL_MEMBERS_MISSING: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'A rehearsal of "{runbook}" needs its people: {reason}. Name a CSV file with --members, with the columns that the source returns.',
  },
  REHEARSAL_TENANT_INVALID: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      '"{file}" cannot be used as tenants: {reason}. See docs/rehearsal.md for the file, or give no --tenant: the rehearsal then makes them.',
  },
  REHEARSAL_TENANT_MISSING: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'No tenant is for worker "{worker}": there are {tenants}. Give one the display name "{label}", or a domain that begins with it.',
  },
  WHAT_IF_UNFIT: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'This change of batch {batchId} cannot be rehearsed: {reason}. Change slots, people or faults, as docs/rehearsal.md shows.',
  },
})
