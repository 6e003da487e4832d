// `matoolkit auth …`: who one is towards the API.
import type { Command } from 'commander'
import type { Io } from '../../terminal/io.ts'
import { addVerb, type RunCommand } from '../verb.ts'

const later =
  (pick: (verbs: typeof import('./verbs.ts')) => RunCommand): RunCommand =>
  async (...given) =>
    pick(await import('./verbs.ts'))(...given)

export function addAuthCommands(program: Command, io: Io): void {
  const noun = program.command('auth').description('sign in to the API, and see as whom')
  addVerb(noun, io, {
    name: 'login',
    about: 'sign in with a code, in a browser on this or any other machine',
    more: LOGIN_MORE,
    examples: [
      'auth login',
      'auth login --api-url https://matoolkit.contoso.example --profile contoso',
    ],
    run: later((verbs) => verbs.runLogin),
  })
  addVerb(noun, io, {
    name: 'status',
    about: 'say who is signed in, with which roles, until when, and where that is kept',
    more: 'Exit code: 0 signed in and let in by the API, 3 not signed in, 4 signed in but without a role there.',
    examples: ['auth status', 'auth status --output json'],
    run: later((verbs) => verbs.runAuthStatus),
  })
  addVerb(noun, io, {
    name: 'logout',
    about: 'end the sign-in, here and at the issuer where it can be told',
    examples: ['auth logout', 'auth logout --profile contoso'],
    run: later((verbs) => verbs.runLogout),
  })
  addVerb(noun, io, {
    name: 'token',
    about: 'print an access token that is good for a minute at least, for other programs',
    isText: true,
    more: TOKEN_MORE,
    examples: ['auth token', 'auth token --profile contoso'],
    run: later((verbs) => verbs.runPrintToken),
  })
}

const LOGIN_MORE = `Whom to sign in with is what the profile says (matoolkit config set tenant-id, client-id, api-scope, or issuer for others than
Entra ID), and for the rest what the API names. The sign-in is kept in the keyring of the system where there is one, else in a file
that only you can read, and renewed by itself.

Without a person, as in a pipeline: MATOOLKIT_TENANT_ID (or MATOOLKIT_ISSUER), MATOOLKIT_CLIENT_ID, MATOOLKIT_API_SCOPE and
MATOOLKIT_CLIENT_SECRET; nothing is kept then. The API that "matoolkit up" started on this machine needs no sign-in.`

const TOKEN_MORE = `Who has it may do what you may do: keep it out of logs and files. With curl, for example:
  curl -H "Authorization: Bearer $(matoolkit auth token)" "$MATOOLKIT_API_URL/api/batches"`
