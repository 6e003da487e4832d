// From sign-in to screen: asks who the person is, then shows the layout with the screen of the address.
import { useCallback, useEffect, useState } from 'react'
import { Router } from 'wouter'
import { Layout } from './layout/layout.tsx'
import { openSession, type Session, watchSession } from './sign-in/session.ts'
import { SignInPage } from './sign-in/sign-in-page.tsx'
import { SessionContext } from './sign-in/use-session.ts'
import { ErrorNote, Loading } from './ui/feedback.tsx'

/** Without the last slash: wouter puts it before every path. */
const base = new URL(document.baseURI).pathname.replace(/\/$/, '')

export function App() {
  const [session, setSession] = useState<Session | Error | null>(null)
  const open = useCallback(() => {
    setSession(null)
    openSession().then(setSession, setSession)
  }, [])
  useEffect(() => {
    watchSession(open)
    open()
  }, [open])
  if (session === null) return <Loading what="the dashboard" />
  if (session instanceof Error) return <ErrorNote error={session} onRetry={open} />
  if (session.kind !== 'signed-in') return <SignInPage session={session} />
  return (
    <SessionContext value={session}>
      <Router base={base}>
        <Layout />
      </Router>
    </SessionContext>
  )
}
