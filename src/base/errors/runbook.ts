// Errors of runbooks and their versions. Part of the table in errors.ts.
import { EXIT, errorRows } from './exit-codes.ts'

export const RUNBOOK_ERRORS = errorRows({
  RUNBOOK_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'Runbook "{name}" has no active version. Publish one, or list the runbooks to check the name.',
  },
  RUNBOOK_UNKNOWN: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'There is no runbook "{name}". Publish it, or list the runbooks to check the name.',
  },
  RUNBOOK_VERSION_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'Runbook "{name}" has no version {version}. List its versions to find the number.',
  },
  RUNBOOK_INVALID: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The runbook has {count errors}; the first: {first} Run "matoolkit runbook validate" to see them all.',
  },
  RUNBOOK_NAME_DIFFERS: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The request names the runbook "{given}", but the text names it "{found}". Correct one of them.',
  },
  MESSAGE_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'Runbook "{name}" has no message "{message}" to preview. {hint} Check the name under "messages" in the runbook.',
  },
  VARIABLE_RESERVED: {
    http: 422,
    exit: EXIT.usage,
    sentence: 'The variable "{name}" cannot be set: {reason}. Choose another name.',
  },
})
