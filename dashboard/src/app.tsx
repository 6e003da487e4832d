// From sign-in to screen: asks who the person is, then shows the layout with the screen of the address.
import { useCallback, useEffect, useState } from 'react'
import { Router } from 'wouter'
import { Layout } from './layout/layout.tsx'
import { openSession, type Session, watchSession } from './sign-in/session.ts'
import { SignInPage } from './sign-in/sign-in-page.tsx'
import { SessionContext } from './sign-in/use-session.ts'
import { Button } from './ui/button.tsx'
import { Empty, Loading } from './ui/feedback.tsx'

/** A page that was loaded while the API is away, such as a wallboard, begins by itself. */
const RETRY_MS = 5_000

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
  const isAway = session instanceof Error
  useEffect(() => {
    if (!isAway) return
    const timer = setInterval(() => openSession().then(setSession, () => {}), RETRY_MS)
    return () => clearInterval(timer)
  }, [isAway])
  if (session === null) return <Loading what="the dashboard" />
  if (session instanceof Error) return <Away error={session} onRetry={open} />
  if (session.kind !== 'signed-in') return <SignInPage session={session} />
  return (
    <SessionContext value={session}>
      <Router base={base}>
        <Layout />
      </Router>
    </SessionContext>
  )
}

interface AwayProps {
  readonly error: Error
  readonly onRetry: () => void
}
const Away = ({ error, onRetry }: AwayProps) => (
  <main id="content">
    <h1>matoolkit</h1>
    <Empty title="The API does not answer">
      <p>The page tries again every five seconds. ({error.message})</p>
      <Button onClick={onRetry}>Try again now</Button>
    </Empty>
  </main>
)
