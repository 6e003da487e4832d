// One runbook: health, versions with their differences, plan, query preview, member files. The tab stands in the address.
import './runbooks.css'
import type { ComponentType } from 'react'
import { Link, useParams, useSearchParams } from 'wouter'
import { useReading, useTagged } from '../../api/hooks.ts'
import { useLive } from '../../api/live.ts'
import type { Answer } from '../../api/routes.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { Page } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { AutomationSwitch } from './automation.tsx'
import { HoldSwitch } from './hold.tsx'
import { MemberFile } from './member-file.tsx'
import { MessagesTab } from './messages.tsx'
import { Overview } from './overview.tsx'
import { PlanTab } from './plan.tsx'
import { QueryPreview } from './preview.tsx'
import { Versions } from './versions.tsx'

export type RunbookText = Answer<'GET /api/runbooks/{name}/versions/{version}'>
export interface TabProps {
  readonly runbook: RunbookText
}

interface Tab {
  readonly id: string
  readonly name: string
  readonly isForAdmins?: true
  readonly Component: ComponentType<TabProps>
}
const TABS: readonly Tab[] = [
  { id: 'overview', name: 'Overview', Component: Overview },
  { id: 'versions', name: 'Versions', Component: Versions },
  { id: 'plan', name: 'Plan', Component: PlanTab },
  { id: 'messages', name: 'Messages', Component: MessagesTab },
  { id: 'query', name: 'Query preview', isForAdmins: true, Component: QueryPreview },
  { id: 'members', name: 'Member file', isForAdmins: true, Component: MemberFile },
]

export default function RunbookScreen() {
  useLive({ entity: 'runbook,batch' })
  const { name = '' } = useParams()
  // The newest version: the active one, unless the runbook was deactivated.
  const versions = useReading('GET /api/runbooks/{name}/versions', {
    params: { name },
    query: { limit: 1 },
  })
  return (
    <Loaded reading={versions} what="the runbook">
      {({ versions: [newest] }) => <Newest name={newest!.name} version={newest!.version} />}
    </Loaded>
  )
}

function Newest({ name, version }: { readonly name: string; readonly version: number }) {
  const { mayChange } = useSession()
  const [search] = useSearchParams()
  const reading = useTagged('GET /api/runbooks/{name}/versions/{version}', {
    params: { name, version },
  })
  const tabs = TABS.filter(({ isForAdmins }) => mayChange || !isForAdmins)
  const tab = tabs.find(({ id }) => id === search.get('tab')) ?? tabs[0]!
  return (
    <Loaded reading={reading} what="the runbook">
      {({ answer: runbook }) => (
        <Page
          title={runbook.name}
          lead={<Lead runbook={runbook} />}
          actions={
            mayChange && (
              <>
                <AutomationSwitch runbook={runbook} />
                <HoldSwitch name={runbook.name} />
                <Link href={`/rehearse?runbook=${runbook.name}`} className="button">
                  Rehearse
                </Link>
                <Link href={`/runbooks/${runbook.name}/edit`} className="button primary">
                  Edit
                </Link>
              </>
            )
          }
        >
          <nav className="tabs" aria-label="Parts of the runbook">
            {tabs.map((one) => (
              <Link
                key={one.id}
                href={`/runbooks/${runbook.name}?tab=${one.id}`}
                aria-current={one === tab ? 'page' : undefined}
              >
                {one.name}
              </Link>
            ))}
          </nav>
          {runbook.isActive || tab.id === 'overview' || tab.id === 'versions' ? (
            <tab.Component runbook={runbook} />
          ) : (
            <Empty title="No version is active">
              <p>Publish one: “Edit” starts from the newest version.</p>
            </Empty>
          )}
        </Page>
      )}
    </Loaded>
  )
}

function Lead({ runbook: { version, isActive, isAutomationEnabled } }: TabProps) {
  return (
    <>
      Version {version} {isActive ? 'is active.' : 'was deactivated: no version is active.'}{' '}
      Automation <Status status={isAutomationEnabled ? 'on' : 'off'} />
    </>
  )
}
