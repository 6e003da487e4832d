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
  /** Under screens/. Its styles apply to its screens only. */
  readonly folder: string
  readonly Component: LazyExoticComponent<ComponentType>
}

export const SCREENS: readonly Screen[] = [
  {
    path: '/',
    navigation: 'Now',
    folder: 'wall',
    Component: lazy(() => import('./screens/wall/wall.tsx')),
  },
  {
    path: '/wallboard',
    navigation: null,
    isBare: true,
    folder: 'wall',
    Component: lazy(() => import('./screens/wall/wallboard.tsx')),
  },
  {
    path: '/handover',
    navigation: 'Hand-over',
    folder: 'handover',
    Component: lazy(() => import('./screens/handover/handover.tsx')),
  },
  {
    path: '/batches',
    navigation: 'Batches',
    folder: 'batches',
    Component: lazy(() => import('./screens/batches/batches.tsx')),
  },
  {
    path: '/batches/:batchId',
    navigation: null,
    folder: 'batch',
    Component: lazy(() => import('./screens/batch/batch.tsx')),
  },
  {
    path: '/actions',
    navigation: null,
    folder: 'actions',
    Component: lazy(() => import('./screens/actions/actions.tsx')),
  },
  {
    path: '/actions/:actionId',
    navigation: null,
    folder: 'actions',
    Component: lazy(() => import('./screens/actions/action.tsx')),
  },
  {
    path: '/people',
    navigation: 'People',
    isForHelpDesk: true,
    folder: 'person',
    Component: lazy(() => import('./screens/person/people.tsx')),
  },
  {
    path: '/failures',
    navigation: 'Failures',
    folder: 'failures',
    Component: lazy(() => import('./screens/failures/failures.tsx')),
  },
  {
    path: '/batches/:batchId/members/:memberId',
    navigation: null,
    isForHelpDesk: true,
    folder: 'person',
    Component: lazy(() => import('./screens/person/person.tsx')),
  },
  {
    path: '/runbooks',
    navigation: 'Runbooks',
    folder: 'runbooks',
    Component: lazy(() => import('./screens/runbooks/runbooks.tsx')),
  },
  {
    path: '/runbooks/new',
    navigation: null,
    folder: 'runbooks',
    Component: lazy(() => import('./screens/runbooks/edit.tsx')),
  },
  {
    path: '/runbooks/:name',
    navigation: null,
    folder: 'runbooks',
    Component: lazy(() => import('./screens/runbooks/runbook.tsx')),
  },
  {
    path: '/runbooks/:name/edit',
    navigation: null,
    folder: 'runbooks',
    Component: lazy(() => import('./screens/runbooks/edit.tsx')),
  },
  {
    path: '/sources',
    navigation: 'Sources',
    folder: 'sources',
    Component: lazy(() => import('./screens/sources/sources.tsx')),
  },
  {
    path: '/sources/reviews',
    navigation: null,
    folder: 'sources',
    Component: lazy(() => import('./screens/sources/reviews.tsx')),
  },
  {
    path: '/sources/:name',
    navigation: null,
    folder: 'sources',
    Component: lazy(() => import('./screens/sources/source.tsx')),
  },
  {
    path: '/workers',
    navigation: 'Workers',
    folder: 'workers',
    Component: lazy(() => import('./screens/workers/workers.tsx')),
  },
  {
    path: '/workers/:workerId',
    navigation: null,
    folder: 'workers',
    Component: lazy(() => import('./screens/workers/worker.tsx')),
  },
  {
    path: '/holds',
    navigation: 'Holds',
    folder: 'holds',
    Component: lazy(() => import('./screens/holds/holds.tsx')),
  },
  {
    path: '/notifications',
    navigation: 'Notifications',
    folder: 'notifications',
    Component: lazy(() => import('./screens/notifications/notifications.tsx')),
  },
  {
    path: '/dead-letters',
    navigation: 'Dead letters',
    folder: 'dead-letters',
    Component: lazy(() => import('./screens/dead-letters/dead-letters.tsx')),
  },
  {
    path: '/dead-letters/:deadLetterId',
    navigation: null,
    folder: 'dead-letters',
    Component: lazy(() => import('./screens/dead-letters/dead-letter.tsx')),
  },
  {
    path: '/audit',
    navigation: 'Audit',
    folder: 'audit',
    Component: lazy(() => import('./screens/audit/audit.tsx')),
  },
  {
    path: '/rehearse',
    navigation: 'Rehearse',
    folder: 'rehearse',
    Component: lazy(() => import('./screens/rehearse/rehearse.tsx')),
  },
  {
    path: '/rehearse/:rehearsalId',
    navigation: null,
    folder: 'rehearse',
    Component: lazy(() => import('./screens/rehearse/rehearsal.tsx')),
  },
]
