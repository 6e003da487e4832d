// The frame of every screen: navigation, search, who is signed in, whether the page is live.
import { Suspense } from 'react'
import { Link, Redirect, Route, Switch, useLocation } from 'wouter'
import { useLiveState } from '../api/live.ts'
import { SCREENS, type Screen } from '../screens.ts'
import { useSession } from '../sign-in/use-session.ts'
import { Empty, ErrorBoundary, Loading } from '../ui/feedback.tsx'

export function Layout() {
  const { mayList } = useSession()
  const [location] = useLocation()
  const screens = SCREENS.filter(({ isForHelpDesk }) => mayList || isForHelpDesk)
  return (
    <div className="layout">
      <a className="skip" href="#content">
        Skip to content
      </a>
      <Header screens={screens} />
      <main id="content" tabIndex={-1}>
        <ErrorBoundary key={location}>
          <Suspense fallback={<Loading what="the page" />}>
            <Switch>
              {screens.map(({ path, Component }) => (
                <Route key={path} path={path} component={Component} />
              ))}
              {/* The start of people who do not see the wall. */}
              <Route path="/">
                <Redirect to={screens[0]?.path ?? '/'} replace />
              </Route>
              <Route>
                <Empty title="There is no such page">
                  <Link href={screens[0]?.path ?? '/'}>Go to the start</Link>
                </Empty>
              </Route>
            </Switch>
          </Suspense>
        </ErrorBoundary>
      </main>
    </div>
  )
}

function Header({ screens }: { readonly screens: readonly Screen[] }) {
  const { me } = useSession()
  const [location] = useLocation()
  const isHere = (path: string) => (path === '/' ? location === '/' : location.startsWith(path))
  return (
    <header className="header">
      <Link href="/" className="brand">
        matoolkit
      </Link>
      <nav aria-label="Screens">
        {screens.map(({ path, navigation }) =>
          navigation === null ? null : (
            <Link key={path} href={path} aria-current={isHere(path) ? 'page' : undefined}>
              {navigation}
            </Link>
          ),
        )}
      </nav>
      <LiveMark />
      <span className="me" title={`${me.id} (${me.roles.join(', ') || 'no role'})`}>
        {me.name}
      </span>
    </header>
  )
}

const LIVE_TEXT = {
  live: 'Live',
  connecting: 'Connecting …',
  broken: 'Connection lost, trying again',
  paused: '',
} as const

function LiveMark() {
  const state = useLiveState()
  return (
    <span className="live" data-state={state} role="status">
      {LIVE_TEXT[state]}
    </span>
  )
}
