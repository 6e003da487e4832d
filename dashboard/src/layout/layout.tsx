// The frame of every screen: the header, then the screen of the address. A bare screen has no header.
import { Suspense, useEffect, useRef } from 'react'
import { Link, Redirect, Route, Switch, useLocation } from 'wouter'
import { SCREENS, type Screen } from '../screens.ts'
import { useSession } from '../sign-in/use-session.ts'
import { Empty, ErrorBoundary, Loading } from '../ui/feedback.tsx'
import { ScreenName } from '../ui/screen-name.ts'
import { Header } from './header.tsx'
import { VerdictBar } from './verdict-bar.tsx'

export function Layout() {
  const { mayList } = useSession()
  const [location] = useLocation()
  const screens = SCREENS.filter(({ isForHelpDesk }) => mayList || isForHelpDesk)
  const start = screens[0]?.path ?? '/'
  const main = useFocusAfter(location)
  const isBare = screens.some(({ path, isBare }) => isBare && path === location)
  return (
    <div className="layout">
      <a className="skip" href="#content">
        Skip to content
      </a>
      {!isBare && <Header screens={screens} />}
      {!isBare && mayList && <VerdictBar />}
      <main id="content" ref={main} tabIndex={-1} className={isBare ? 'bare' : undefined}>
        <ErrorBoundary key={location}>
          <Suspense fallback={<Loading what="the page" />}>
            <Switch>
              {screens.map((screen) => (
                <Route key={screen.path} path={screen.path}>
                  <ShownScreen screen={screen} />
                </Route>
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

function ShownScreen({ screen: { folder, Component } }: { readonly screen: Screen }) {
  return (
    <ScreenName value={folder}>
      <div data-screen={folder}>
        <Component />
      </div>
    </ScreenName>
  )
}

/** A link inside the page loads nothing: without this the focus falls to the body, and a screen reader says nothing. */
function useFocusAfter(location: string) {
  const main = useRef<HTMLElement>(null)
  const shown = useRef(location)
  useEffect(() => {
    if (shown.current === location) return
    shown.current = location
    main.current?.focus({ preventScroll: true })
    window.scrollTo(0, 0)
  }, [location])
  return main
}
