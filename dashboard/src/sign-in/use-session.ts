// The signed-in person, for components: who they are and what their roles allow. The API decides; the page only hides what it would
// refuse.
import { createContext, useContext } from 'react'
import type { Session } from './session.ts'

type SignedIn = Extract<Session, { readonly kind: 'signed-in' }>

export const SessionContext = createContext<SignedIn | null>(null)

export function useSession() {
  const session = useContext(SessionContext)
  if (session === null) throw new Error('no session around this component')
  const { roles } = session.me
  const isAdmin = roles.includes('Admin')
  return {
    ...session,
    mayChange: isAdmin,
    /** Lists and screens about many people. */
    mayList: isAdmin || roles.includes('Reader') || !roles.includes('HelpDesk'),
  }
}
