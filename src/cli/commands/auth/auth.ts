// `matoolkit auth …`: names and flags of the sign-in commands. Their code is loaded when one runs.
import type { Command } from 'commander'
import type { Io } from '../../terminal/io.ts'
import { addVerb, type RunCommand } from '../verb.ts'

const later =
  (pick: (verbs: typeof import('./verbs.ts')) => RunCommand): RunCommand =>
  async (...given) =>
    pick(await import('./verbs.ts'))(...given)

export function addAuthCommands(program: Command, io: Io): void {
  const noun = program.command('auth').description('sign in to the API')
  addVerb(noun, io, {
    name: 'login',
    about: 'sign in with a code in any browser',
    more: LOGIN_MORE,
    examples: [
      'auth login',
      'auth login --api-url https://matoolkit.contoso.example --profile contoso',
    ],
    run: later((verbs) => verbs.runLogin),
  })
  addVerb(noun, io, {
    name: 'status',
    about: 'show who is signed in',
    more: 'Exit code: 0 signed in with a role, 3 not signed in, 4 signed in without a role.',
    examples: ['auth status', 'auth status --output json'],
    run: later((verbs) => verbs.runAuthStatus),
  })
  addVerb(noun, io, {
    name: 'logout',
    about: 'sign out here and at the issuer',
    examples: ['auth logout', 'auth logout --profile contoso'],
    run: later((verbs) => verbs.runLogout),
  })
  addVerb(noun, io, {
    name: 'token',
    about: 'print an access token',
    isText: true,
    more: TOKEN_MORE,
    examples: ['auth token', 'auth token --profile contoso'],
    run: later((verbs) => verbs.runPrintToken),
  })
}

const LOGIN_MORE = `The issuer comes from the profile (matoolkit config set tenant-id, client-id, api-scope; issuer instead of tenant-id for issuers other
than Entra ID). The API supplies what the profile does not set. The sign-in is stored in a file that only you can read,
encrypted with a key of the system keyring (of DPAPI on Windows) where there is one, and renewed automatically.

In a pipeline, set MATOOLKIT_TENANT_ID (or MATOOLKIT_ISSUER), MATOOLKIT_CLIENT_ID, MATOOLKIT_API_SCOPE and MATOOLKIT_CLIENT_SECRET;
nothing is stored. The API that "matoolkit up" starts on this machine needs no sign-in.`

const TOKEN_MORE = `The token is valid for at least a minute and grants all your rights: keep it out of logs and files. With curl:
  curl -H "Authorization: Bearer $(matoolkit auth token)" "$MATOOLKIT_API_URL/api/batches"`
