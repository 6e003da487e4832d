// The errors of the command line as a client of the API: rows of the one table in errors.ts.
import { type ErrorRow, EXIT } from './exit.ts'

const rows = <T extends Record<string, ErrorRow>>(table: T): T => table

export const CLI_ERRORS = rows({
  API_UNREACHABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The API at {url} does not answer: {reason}. Check the address (matoolkit config show) and that it is running; on this machine "matoolkit up" starts one.',
  },
  API_NOT_UNDERSTOOD: {
    http: 502,
    exit: EXIT.unavailable,
    sentence:
      '{url} answered with status {status} and nothing that matoolkit understands. Check that the address is that of a matoolkit API and of this version.',
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
      'There is no profile "{profile}" in {file}. Make it with "matoolkit config set api-url <url> --profile {profile}".',
  },
  CONFIRMATION_NEEDED: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      '{what} There is nobody here who could be asked. Add --yes to do it without a question.',
  },
  CONFIRMATION_REFUSED: {
    http: 400,
    exit: EXIT.failed,
    sentence: 'Nothing was done. Run the command again and confirm it, or add --yes.',
  },
  WAIT_TIMED_OUT: {
    http: 503,
    exit: EXIT.timedOut,
    sentence:
      'After {seconds} s {what} is not there yet; it goes on by itself. Look with "{command}".',
  },
  WAIT_DISAPPOINTED: {
    http: 409,
    exit: EXIT.failed,
    sentence: '{what} Look with "{command}".',
  },
  WAIT_STOPPED: {
    http: 503,
    exit: EXIT.interrupted,
    sentence: 'You stopped waiting; batch {batchId} goes on by itself. Look with "{command}".',
  },
  FILE_EXISTS: {
    http: 409,
    exit: EXIT.conflict,
    sentence: 'The file "{file}" is there already. Name another one, or add --force to replace it.',
  },
  FILE_UNWRITABLE: {
    http: 500,
    exit: EXIT.failed,
    sentence: 'The file "{file}" cannot be written: {reason}. Check the path and its permissions.',
  },
  SIGN_IN_NOT_OFFERED: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'Signing in to {url} needs {missing}. Set it with matoolkit config set, or ask whoever runs that API.',
  },
  SIGN_IN_FAILED: {
    http: 401,
    exit: EXIT.notSignedIn,
    sentence:
      'Signing in at {issuer} failed: {reason}. Run matoolkit auth login again; for an application check its client id and secret.',
  },
  SIGN_IN_LOCAL: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'The API at {url} lets in whoever can read its token file on its own machine; there is nothing to sign in to. Run commands there, or set MATOOLKIT_TOKEN.',
  },
  SIGN_IN_NEEDED: {
    http: 401,
    exit: EXIT.notSignedIn,
    sentence: 'Nobody is signed in to {url}. Run "matoolkit auth login".',
  },
  ISSUER_UNREACHABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The issuer {issuer} cannot be asked: {reason}. Check the address (matoolkit config show) and the network, then try again.',
  },
  API_NOT_SECURE: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'A sign-in is not used with {url}: without https others could read the token on its way. Use an address with https.',
  },
})
