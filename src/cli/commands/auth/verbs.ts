// `matoolkit auth …`: sign-in, status, token and sign-out.

import { EXIT, MatoolkitError } from '../../../base/errors/errors.ts'
import { readClientEnv } from '../../../base/settings/config.ts'
import { printable } from '../../../base/text/printable.ts'
import { ApiRefusal } from '../../connection/api-refusal.ts'
import { localTokenFor } from '../../connection/instances.ts'
import type { CommandContext } from '../../program/command-context.ts'
import { revoke, signInWithDeviceCode } from '../../sign-in/issuer.ts'
import { apiUrlOf, findRegistration, requireHttps } from '../../sign-in/registration.ts'
import {
  readSignIn,
  removeSignIn,
  saveSignIn,
  signInKey,
  storageText,
  withSignInLock,
} from '../../sign-in/store.ts'
import { tokenSource } from '../../sign-in/token-source.ts'
import type { Column } from '../../terminal/show.ts'

interface AuthStatus extends Me {
  readonly api: string
  readonly profile: string
  readonly by: string | null
  readonly issuer: string | null
  readonly clientId: string | null
  readonly expiresAt: string | null
  readonly keptIn: string | null
}

const STATUS: readonly Column<AuthStatus>[] = [
  ['api', 'api'],
  ['profile', 'profile'],
  ['signed in', 'isSignedIn'],
  ['as', 'name'],
  ['roles', ({ roles }) => roles?.join(', ')],
  ['by', 'by'],
  ['issuer', 'issuer'],
  ['client id', 'clientId'],
  ['token until', 'expiresAt'],
  ['stored in', 'keptIn'],
  ['refused', 'refusal'],
]

const keyOf = ({ profile }: CommandContext): string => signInKey(profile.name, apiUrlOf(profile))

export async function runLogin(context: CommandContext): Promise<void> {
  const { io, clock, profile } = context
  requireHttps(apiUrlOf(profile))
  requirePerson(apiUrlOf(profile))
  const registration = await findRegistration({ profile, clock })
  const granted = await signInWithDeviceCode({
    registration,
    clock,
    show: (page, code, complete) => {
      io.err(printable(`Open ${page} in a browser on any machine and enter the code ${code}`))
      if (complete) io.err(printable(`or open ${complete}`))
      io.progress('Waiting for you to sign in …')
    },
  })
  io.progress('')
  await withSignInLock(clock, () => saveSignIn(keyOf(context), { ...registration, ...granted }))
  await runAuthStatus(context)
}

/** Refuses if another token source would take precedence over the sign-in. */
function requirePerson(url: string): void {
  const { token: given, clientSecret } = readClientEnv()
  const name = given ? 'MATOOLKIT_TOKEN' : clientSecret ? 'MATOOLKIT_CLIENT_SECRET' : null
  if (name) {
    const reason = `${name} is set and takes precedence over a sign-in. Unset it first.`
    throw new MatoolkitError('USAGE', { reason })
  }
  if (localTokenFor(url) !== null) throw new MatoolkitError('SIGN_IN_LOCAL', { url })
}

export async function runAuthStatus(context: CommandContext): Promise<void> {
  const { client, profile, show, io } = context
  const found = await whoAmI(context)
  const { isPersonal, ...source } = await tokenSourceOf(context)
  const kept = isPersonal ? await readSignIn(keyOf(context)) : null
  const whole: AuthStatus = {
    api: client.apiUrl,
    profile: profile.name,
    ...found,
    ...source,
    issuer: kept?.issuer ?? null,
    clientId: kept?.clientId ?? null,
    expiresAt: kept?.expiresAt ?? null,
    keptIn: kept && storageText(),
  }
  await show.one(whole, STATUS)
  if (!found.isSignedIn) {
    show.say('Sign in with: matoolkit auth login')
    io.exitCode = EXIT.notSignedIn
  } else if (found.refusal !== null) io.exitCode = EXIT.notAllowed
}

interface Me {
  /** Whether the API accepts the token, even without a role. */
  readonly isSignedIn: boolean
  readonly id: string | null
  readonly name: string | null
  readonly roles: readonly string[] | null
  readonly refusal: string | null
}

/** The API decides. Only sign-in errors are an answer; others are thrown. */
async function whoAmI({ client }: CommandContext): Promise<Me> {
  try {
    return { isSignedIn: true, ...(await client.call('GET /api/me')), refusal: null }
  } catch (error) {
    const status = error instanceof ApiRefusal ? error.status : null
    const hasEnded = error instanceof MatoolkitError && error.code === 'SIGN_IN_FAILED'
    if (status !== 401 && status !== 403 && !hasEnded) throw error
    const { code, message } = error as ApiRefusal | MatoolkitError
    // Without a token there is no refusal to show.
    const refusal = code === 'NOT_SIGNED_IN' ? null : message
    return { isSignedIn: status === 403, id: null, name: null, roles: null, refusal }
  }
}

/** The token source, in the order of token-source.ts. */
async function tokenSourceOf(
  context: CommandContext,
): Promise<{ by: string | null; isPersonal: boolean }> {
  const { token: given, clientSecret } = readClientEnv()
  if (given) return { by: 'MATOOLKIT_TOKEN', isPersonal: false }
  if (localTokenFor(context.client.apiUrl) !== null) {
    return { by: 'matoolkit up on this machine', isPersonal: false }
  }
  if (clientSecret) return { by: 'an application, MATOOLKIT_CLIENT_SECRET', isPersonal: false }
  const kept = await readSignIn(keyOf(context))
  return { by: kept && 'matoolkit auth login', isPersonal: true }
}

export async function runLogout(context: CommandContext): Promise<void> {
  const { io, show, client, clock } = context
  const key = keyOf(context)
  const kept = await readSignIn(key)
  const whole = { api: client.apiUrl, wasSignedIn: kept !== null, isEndedAtIssuer: false }
  if (kept) {
    // Removed here first: that must not depend on the network.
    await withSignInLock(clock, () => removeSignIn(key))
    const { issuer, refreshToken } = kept
    const ended = refreshToken === null ? false : await revoke(kept, refreshToken).catch(() => null)
    whole.isEndedAtIssuer = ended === true
    if (ended === null) {
      io.err(
        printable(`warning: ${issuer} did not answer; its session stays valid until it expires`),
      )
    }
  }
  await show.one(whole, [
    ['api', 'api'],
    ['signed out', ({ wasSignedIn }) => (wasSignedIn ? 'yes' : 'no one was signed in')],
    ['at the issuer', ({ isEndedAtIssuer }) => (isEndedAtIssuer ? 'ended too' : null)],
  ])
}

export async function runPrintToken({ io, clock, profile, show }: CommandContext): Promise<void> {
  const found = await tokenSource({ profile, clock })(false)
  if (found === null) throw new MatoolkitError('SIGN_IN_NEEDED', { url: apiUrlOf(profile) })
  if (show.format === 'table') return io.out(found)
  await show.one({ token: found }, [['token', 'token']])
}
