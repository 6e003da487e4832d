// Signing in and what one may do then. There are two ways: tokens of an OpenID Connect issuer, and, on this machine only, the
// token in a file that nobody else can read. Each route names its rule; the rules are these three lines.
import { MatoolkitError } from '../../errors.ts'
import type { Actor } from '../actor.ts'
import type { AccessRule } from '../route.ts'

export interface SignInMethod {
  readonly mode: 'local' | 'oidc'
  /** Who holds this token. Throws TOKEN_REFUSED, NOT_ALLOWED or SIGN_IN_UNAVAILABLE. */
  whoIs(token: string): Promise<Actor>
}

export type ReadPolicy = 'reader' | 'authenticated'

/** Longer ones are not looked at; Entra's largest have some 5 KB. */
const TOKEN_CHARS_MAX = 16_384

/** The token of the one `Authorization: Bearer` header. */
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

export function requireRole(rule: AccessRule, actor: Actor, readPolicy: ReadPolicy): void {
  if (rule === 'anonymous' || actor.roles.includes('Admin')) return
  const mayRead = actor.roles.includes('Reader') || readPolicy === 'authenticated'
  if (rule === 'reader' && mayRead) return
  const role = rule === 'admin' ? 'the role Admin' : 'the role Reader or Admin'
  throw new MatoolkitError('NOT_ALLOWED', { what: role })
}
