// Errors of the command line as a client of the API. Part of the table in errors.ts.
import { EXIT, errorRows } from './exit-codes.ts'

export const CLI_ERRORS = errorRows({
  API_UNREACHABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The API at {url} does not answer: {reason}. Check the address with "matoolkit config show", and that the API runs; "matoolkit up" starts one on this machine.',
  },
  API_NOT_UNDERSTOOD: {
    http: 502,
    exit: EXIT.unavailable,
    sentence:
      '{url} answered with status {status} and no matoolkit answer. Check that the address is a matoolkit API of the same version.',
  },
  API_UNPROVEN: {
    http: 502,
    exit: EXIT.unavailable,
    sentence:
      'Nothing was sent to {url}: {reason}. Check the address with "matoolkit config show"; "matoolkit up" starts an API on this machine.',
  },
  INSTANCE_UNCLEAR: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'Nothing was changed, because it is not clear which matoolkit to change: {doubt}, or run the command in its folder.',
  },
  INSTANCE_UNKNOWN: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'No matoolkit runs as "{given}" on this machine. {list}. Start one with "matoolkit up" in its folder.',
  },
  CLIENT_SETTING_INVALID: {
    http: 400,
    exit: EXIT.usage,
    sentence: '{name} is "{value}" ({from}), but must be {mustBe}. Correct it and try again.',
  },
  PROFILE_UNKNOWN: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'There is no profile "{profile}" in {file}. Create it with "matoolkit config set api-url <url> --profile {profile}".',
  },
  CONFIRMATION_NEEDED: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      '{what} This needs a confirmation, and there is no terminal to ask on. Add --yes to confirm.',
  },
  REASON_NEEDED: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'The audit needs a reason for this, and there is no terminal to ask on. Add --reason.',
  },
  CONFIRMATION_REFUSED: {
    http: 400,
    exit: EXIT.failed,
    sentence:
      'Not confirmed, so nothing was done. Run the command again and confirm, or add --yes.',
  },
  WAIT_TIMED_OUT: {
    http: 503,
    exit: EXIT.timedOut,
    sentence:
      '{what} is not reached after {seconds} s; the batch continues. Check with "{command}".',
  },
  WAIT_DISAPPOINTED: {
    http: 409,
    exit: EXIT.failed,
    sentence: '{what} Check with "{command}".',
  },
  WAIT_STOPPED: {
    http: 503,
    exit: EXIT.interrupted,
    sentence: 'Stopped waiting; batch {batchId} continues. Check with "{command}".',
  },
})
