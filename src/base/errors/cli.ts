// Errors of the command line as a client of the API: part of the table in errors.ts.
import { type ErrorRow, EXIT } from './exit-codes.ts'

const rows = <T extends Record<string, ErrorRow>>(table: T): T => table

export const CLI_ERRORS = rows({
  MEMBER_NOT_IN_FILE: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'The member file "{file}" has no usable row for {member}. Name another person.',
  },
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
  MCP_PACKAGE_MISSING: {
    http: 500,
    exit: EXIT.failed,
    sentence:
      'The package @modelcontextprotocol/server cannot be loaded: {reason}. Run npm install without --omit=optional.',
  },
  MCP_TOKEN_TOO_STRONG: {
    http: 403,
    exit: EXIT.notAllowed,
    sentence:
      'The sign-in of {name} at {url} may change things (role {role}), and tools of an assistant only read. Sign in with the role Reader or HelpDesk, or add --allow-admin if the assistant may hold such a token.',
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
  FILE_EXISTS: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'The file "{file}" already exists. Choose another name, or add --force to replace it.',
  },
  FILE_UNWRITABLE: {
    http: 500,
    exit: EXIT.failed,
    sentence: 'Cannot write the file "{file}": {reason}. Check the path and its permissions.',
  },
  SIGN_IN_NOT_OFFERED: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'Signing in to {url} needs {missing}. Set it with "matoolkit config set", or ask the operator of that API.',
  },
  SIGN_IN_FAILED: {
    http: 401,
    exit: EXIT.notSignedIn,
    sentence:
      'Sign-in at {issuer} failed: {reason}. Run "matoolkit auth login" again; for an application, check its client id and secret.',
  },
  SIGN_IN_LOCAL: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'The API at {url} uses a local token file, so there is no sign-in. Run commands on its machine, or set MATOOLKIT_TOKEN.',
  },
  SIGN_IN_NEEDED: {
    http: 401,
    exit: EXIT.notSignedIn,
    sentence: 'You are not signed in to {url}. Run "matoolkit auth login".',
  },
  ISSUER_UNREACHABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The issuer {issuer} is unreachable: {reason}. Check the address with "matoolkit config show" and the network, then try again.',
  },
  API_NOT_SECURE: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'Cannot send a token to {url}: without https others could read it. Use an https address.',
  },
  REHEARSAL_BATCH_UNFIT: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'Batch {batchId} cannot be rehearsed: {reason}. Run "matoolkit runbook rehearse" with its runbook and a member file.',
  },
  WHAT_IF_UNFIT: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'This change of batch {batchId} cannot be rehearsed: {reason}. Change slots, people or faults, as docs/rehearsal.md shows.',
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
      '"{file}" cannot be used as tenants: {reason}. See docs/sandbox.md for the file, or give no --tenant: the rehearsal then makes them.',
  },
  REHEARSAL_TENANT_MISSING: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'No tenant is for worker "{worker}": there are {tenants}. Give one the display name "{label}", or a domain that begins with it.',
  },
})
