// The frame of every screen: the header, then the screen of the address. A bare screen has no header.
import { Suspense } from 'react'
import { Link, Redirect, Route, Switch, useLocation } from 'wouter'
import { SCREENS } from '../screens.ts'
import { useSession } from '../sign-in/use-session.ts'
import { Empty, ErrorBoundary, Loading } from '../ui/feedback.tsx'
import { Header } from './header.tsx'

export function Layout() {
  const { mayList } = useSession()
  const [location] = useLocation()
  const screens = SCREENS.filter(({ isForHelpDesk }) => mayList || isForHelpDesk)
  const start = screens[0]?.path ?? '/'
  const isBare = screens.some(({ path, isBare }) => isBare && path === location)
  return (
    <div className="layout">
      <a className="skip" href="#content">
        Skip to content
      </a>
      {!isBare && <Header screens={screens} />}
      <main id="content" tabIndex={-1} className={isBare ? 'bare' : undefined}>
        <ErrorBoundary key={location}>
          <Suspense fallback={<Loading what="the page" />}>
            <Switch>
              {screens.map(({ path, Component }) => (
                <Route key={path} path={path} component={Component} />
              ))}
              {/* The start of people who do not see the wall. */}
              <Route path="/">
                <Redirect to={start} replace />
              </Route>
              <Route>
                <Empty title="There is no such page">
                  <Link href={start}>Go to the start</Link>
                </Empty>
              </Route>
            </Switch>
          </Suspense>
        </ErrorBoundary>
      </main>
    </div>
  )
}
