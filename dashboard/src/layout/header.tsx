// The header: navigation, search for a person, whether the page is live, theme, who is signed in.
import { type FormEvent, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useLiveState } from '../api/live.ts'
import type { Screen } from '../screens.ts'
import { forgetSession } from '../sign-in/session.ts'
import { useSession } from '../sign-in/use-session.ts'
import { Button } from '../ui/button.tsx'
import { chooseTheme, chosenTheme, THEMES, type Theme } from './theme.ts'
import './header.css'

export function Header({ screens }: { readonly screens: readonly Screen[] }) {
  const { me, isLocal, mayList } = useSession()
  const [location] = useLocation()
  const isHere = (path: string) => (path === '/' ? location === '/' : location.startsWith(path))
  return (
    <header className="header">
      <Link href="/" className="brand">
        matoolkit
      </Link>
      <PersonSearch />
      <LiveMark />
      {mayList && (
        <Link href="/wallboard" className="header-link">
          Wallboard
        </Link>
      )}
      <ThemeSwitch />
      <span className="me" title={`${me.id} (${me.roles.join(', ') || 'no role'})`}>
        {me.name}
      </span>
      {!isLocal && <Button onClick={forgetSession}>Sign out</Button>}
      <nav aria-label="Screens">
        {screens.map(({ path, navigation }) =>
          navigation === null ? null : (
            <Link key={path} href={path} aria-current={isHere(path) ? 'page' : undefined}>
              {navigation}
            </Link>
          ),
        )}
      </nav>
    </header>
  )
}

function PersonSearch() {
  const [, go] = useLocation()
  const find = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const text = String(new FormData(event.currentTarget).get('find') ?? '').trim()
    if (text !== '') go(`/people?${new URLSearchParams({ find: text })}`)
  }
  return (
    <search>
      <form onSubmit={find}>
        <input
          type="search"
          name="find"
          className="person-search"
          aria-label="Find a person"
          placeholder="Find a person: name or address"
          autoComplete="off"
          maxLength={200}
        />
      </form>
    </search>
  )
}

const THEME_NAMES: Readonly<Record<Theme, string>> = {
  system: 'System theme',
  light: 'Light',
  dark: 'Dark',
}

function ThemeSwitch() {
  const [theme, setTheme] = useState(chosenTheme)
  return (
    <select
      className="theme-switch"
      aria-label="Theme"
      value={theme}
      onChange={({ target }) => {
        const chosen = target.value as Theme
        chooseTheme(chosen)
        setTheme(chosen)
      }}
    >
      {THEMES.map((name) => (
        <option key={name} value={name}>
          {THEME_NAMES[name]}
        </option>
      ))}
    </select>
  )
}

const LIVE_TEXT = {
  live: 'Live',
  connecting: 'Connecting …',
  broken: 'Connection lost, trying again',
  paused: '',
} as const

export function LiveMark() {
  const state = useLiveState()
  return (
    <span className="live" data-state={state} role="status">
      {LIVE_TEXT[state]}
    </span>
  )
}
