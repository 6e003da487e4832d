// All screens: address, name in the navigation, who sees it. To add one, write it under screens/ and add its line here. Each is loaded
// when it is first shown.
import { type ComponentType, type LazyExoticComponent, lazy } from 'react'

export interface Screen {
  readonly path: string
  /** Null: reached through another screen. */
  readonly navigation: string | null
  /** The role HelpDesk sees it too. */
  readonly isForHelpDesk?: true
  /** Without header and navigation, for a screen on a wall. */
  readonly isBare?: true
  readonly Component: LazyExoticComponent<ComponentType>
}

export const SCREENS: readonly Screen[] = [
  { path: '/', navigation: 'Now', Component: lazy(() => import('./screens/wall/wall.tsx')) },
  {
    path: '/wallboard',
    navigation: null,
    isBare: true,
    Component: lazy(() => import('./screens/wall/wallboard.tsx')),
  },
  {
    path: '/people',
    navigation: 'People',
    isForHelpDesk: true,
    Component: lazy(() => import('./screens/person/people.tsx')),
  },
  {
    path: '/batches/:batchId/members/:memberId',
    navigation: null,
    isForHelpDesk: true,
    Component: lazy(() => import('./screens/person/person.tsx')),
  },
  {
    path: '/runbooks',
    navigation: 'Runbooks',
    Component: lazy(() => import('./screens/runbooks/runbooks.tsx')),
  },
  {
    path: '/runbooks/new',
    navigation: null,
    Component: lazy(() => import('./screens/runbooks/edit.tsx')),
  },
  {
    path: '/runbooks/:name',
    navigation: null,
    Component: lazy(() => import('./screens/runbooks/runbook.tsx')),
  },
  {
    path: '/runbooks/:name/edit',
    navigation: null,
    Component: lazy(() => import('./screens/runbooks/edit.tsx')),
  },
]
