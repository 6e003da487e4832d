// Who asks. The id is what never changes hands (tenant and object, or issuer and subject); the name is for people to read.
export const ROLES_KNOWN = ['Admin', 'Reader'] as const
export type ApiRole = (typeof ROLES_KNOWN)[number]

export interface Actor {
  readonly id: string
  readonly name: string
  readonly roles: readonly ApiRole[]
  /** The application that the token was issued to. */
  readonly clientApp: string | null
}

export const NOBODY: Actor = { id: 'anonymous', name: 'anonymous', roles: [], clientApp: null }
