// Callers, sign-in methods and access rules. A caller signs in with an OpenID Connect token, or on the same machine with the token in
// a private file. Each route names its rule; `requireRole` checks it.
import { MatoolkitError } from '../../base/errors/errors.ts'
import type { AccessRule } from '../route.ts'

/** `HelpDesk` finds one person by an exact address and reads their page, and no lists. */
export const API_ROLES = ['Admin', 'Reader', 'HelpDesk'] as const
export type ApiRole = (typeof API_ROLES)[number]

export interface Actor {
  /** Never reassigned: tenant and object, or issuer and subject. */
  readonly id: string
  /** For people to read. */
  readonly name: string
  readonly roles: readonly ApiRole[]
  /** The application that the token was issued to. */
  readonly clientApp: string | null
}

export const ANONYMOUS: Actor = { id: 'anonymous', name: 'anonymous', roles: [], clientApp: null }

/** A verified caller. `lacks` names what the token misses to be used here: such a caller is known, audited and refused. */
export interface SignedIn {
  readonly actor: Actor
  readonly lacks: string | null
  /** Null for a token that does not end. */
  readonly tokenEndsAt: Date | null
}

export interface SignInMethod {
  readonly mode: 'local' | 'oidc'
  /** The token's owner. Throws TOKEN_REFUSED or SIGN_IN_UNAVAILABLE. */
  authenticate(token: string): Promise<SignedIn>
  /** Local mode: proves to a caller, who has not sent the token yet, that the API at this address has it too. */
  prove?(origin: string, nonce: string): string
  /** Local mode: removes the token, unless another process uses it. */
  close?(): void
}

export type ReadPolicy = 'reader' | 'authenticated'

/** Longer tokens are refused unread; Entra's largest have about 5 KB. */
const TOKEN_CHARS_MAX = 16_384

/** The token of the only `Authorization: Bearer` header. */
export function bearerToken(headers: readonly string[]): string {
  const [header, ...more] = headers
  if (header === undefined) throw new MatoolkitError('NOT_SIGNED_IN')
  if (more.length > 0) refuseToken('there are several Authorization headers')
  const token = /^bearer +([\w.~+/=-]+)$/i.exec(header)?.[1]
  if (token === undefined) return refuseToken('the Authorization header is not "Bearer <token>"')
  if (token.length > TOKEN_CHARS_MAX) return refuseToken('it is too long')
  return token
}

export function refuseToken(reason: string, cause?: unknown): never {
  throw new MatoolkitError('TOKEN_REFUSED', { reason }, { cause })
}

const NEEDED = {
  'help-desk': 'the role HelpDesk, Reader or Admin',
  reader: 'the role Reader or Admin',
  admin: 'the role Admin',
} as const

/** Only the role HelpDesk: such a caller finds people by whole addresses, not by parts of them. */
export const isHelpDeskOnly = ({ roles }: Actor): boolean =>
  roles.includes('HelpDesk') && !roles.includes('Reader') && !roles.includes('Admin')

export function requireRole(rule: AccessRule, actor: Actor, readPolicy: ReadPolicy): void {
  if (rule === 'anonymous' || actor.roles.includes('Admin')) return
  const mayRead = actor.roles.includes('Reader') || readPolicy === 'authenticated'
  if (rule !== 'admin' && mayRead) return
  if (rule === 'help-desk' && actor.roles.includes('HelpDesk')) return
  throw new MatoolkitError('NOT_ALLOWED', { what: NEEDED[rule] })
}
