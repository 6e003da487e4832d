// Errors of data sources, ticks and reviews. Part of the table in errors.ts.
import { EXIT, errorRows } from './exit-codes.ts'

export const SOURCE_ERRORS = errorRows({
  SOURCE_NOT_CONFIGURED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The {source} is not configured: {reason}. Set {wanted}. See docs/waves.md for its value.',
  },
  SOURCE_PACKAGE_MISSING: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The driver of sources of type sqlserver and dataverse cannot be loaded: {reason}. Run "{command}" where the scheduler runs, and start it again.',
  },
  SOURCE_UNREACHABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence: 'The {source} is unreachable: {reason}. Check {reach}.',
  },
  SOURCE_SIGN_IN_REFUSED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence: 'The {source} refused the sign-in: {reason}. Check {signIn}.',
  },
  SOURCE_QUERY_REFUSED: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The {source} refused the query: {reason}. Run the query in the source itself, then correct it in the runbook.',
  },
  SOURCE_TIMED_OUT: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The query of the {source} took longer than {seconds} seconds and was cancelled. Make the query faster, or raise MATOOLKIT_SOURCE_TIMEOUT_SEC.',
  },
  SOURCE_CANCELLED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The query of the {source} was cancelled, and no rows were used. Wait for the next tick, which runs it again.',
  },
  SOURCE_DROPPED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The connection to the {source} was lost after {rows} rows, and no rows were used: {reason}. Check the source and the network; the next tick runs the query again.',
  },
  SOURCE_TRUNCATED: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The {source} returned an incomplete result: {reason}. No rows were used, because missing members would count as leavers. Make the query return fewer rows or columns.',
  },
  SOURCE_COLUMNS_INVALID: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The {source} returned unusable columns: {reason}. Name every column once and return all columns that the runbook uses.',
  },
  SOURCE_VALUE_UNREADABLE: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The {source} returned a value that cannot be converted exactly: {reason}. Cast that column to text in the query.',
  },
  SOURCE_FILE_INVALID: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The {source} is not a valid CSV file: {reason}. Use UTF-8 and commas, with a first line that names each column once.',
  },
  SOURCE_FILE_MISSING: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The {source} is missing: {reason}. Create it there, or correct "path" in the runbook: it starts at MATOOLKIT_SOURCE_FOLDER, or at the folder in which "matoolkit up" was started.',
  },
  SOURCE_FILE_CHANGING: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The {source} is still being written: {reason}. The next tick reads it again; write files under a temporary name and rename them when complete.',
  },
  SOURCE_RESULT_REFUSED: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The result of the {source} was not used: {reason}. Check the query with "matoolkit query preview" and correct it in the runbook.',
  },
  AUTOMATION_OFF: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'The automation of runbook "{name}" is off, so its query does not run. Turn it on with "matoolkit automation enable".',
  },
  TICK_RUNNING: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'Another scheduler is running a tick of runbook "{name}". Wait for it to end, then check its result.',
  },
  TICK_TAKEN_OVER: {
    http: 503,
    exit: EXIT.failed,
    sentence:
      'This tick of runbook "{name}" took too long, and another scheduler took over. The next tick does the rest; check the log for the cause.',
  },
  TICK_OUTDATED: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'The result of this tick was not used: during the query, runbook "{name}" got a new version or its automation was turned off. Wait for the next tick.',
  },
  REVIEW_CHANGED: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      '{count} of the {asked} reviews are no longer open: a colleague decided them, or a newer tick changed them. List the reviews and decide again.',
  },
  PREVIEW_UNAVAILABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'This process runs no scheduler, so it cannot query data sources. Send the request to a process with the roles api and scheduler.',
  },
})
