// Writes a runbook: the text with its problems in place, a plan, its messages and a query preview of it, publishing with its impact.
import './runbooks.css'
import { lazy, Suspense, useCallback, useEffect, useState } from 'react'
import { Link, useLocation, useParams, useSearchParams } from 'wouter'
import { usePages, useReading, useTagged } from '../../api/hooks.ts'
import type { Answer } from '../../api/routes.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Empty, ErrorNote, Loaded, Loading } from '../../ui/feedback.tsx'
import { Page, Section } from '../../ui/page.tsx'
import { draftOf, dropDraft, FIRST_TEXT, keepDraft } from './draft.ts'
import type { Checked } from './editor/editor.tsx'
import { MessagesOf } from './messages.tsx'
import { PlanOf } from './plan.tsx'
import { PreviewOf } from './preview.tsx'
import { mayPublish, PublishDialog } from './publish.tsx'

const Editor = lazy(() => import('./editor/editor.tsx'))

type Catalogues = Answer<'GET /api/catalogues'>['catalogues']

export default function Edit() {
  const { name } = useParams()
  if (name === undefined) return <Writing name={null} version={null} stored="" etag={null} />
  return <EditNewest name={name} />
}

function EditNewest({ name }: { readonly name: string }) {
  const versions = useReading('GET /api/runbooks/{name}/versions', {
    params: { name },
    query: { limit: 1 },
  })
  return (
    <Loaded reading={versions} what="the runbook">
      {({ versions: [newest] }) => <EditVersion name={newest!.name} version={newest!.version} />}
    </Loaded>
  )
}

function EditVersion({ name, version }: { readonly name: string; readonly version: number }) {
  // The version that the person starts from: one that another publishes meanwhile does not replace the text under their hands.
  const [first] = useState(version)
  const reading = useTagged('GET /api/runbooks/{name}/versions/{version}', {
    params: { name, version: first },
  })
  return (
    <Loaded reading={reading} what="the text">
      {({ answer, etag }) => (
        <Writing name={name} version={first} stored={answer.yamlContent} etag={etag} />
      )}
    </Loaded>
  )
}

interface WritingProps {
  /** Null for a new runbook. */
  readonly name: string | null
  readonly version: number | null
  readonly stored: string
  readonly etag: string | null
}

function Writing({ name, version, stored, etag }: WritingProps) {
  const [, navigate] = useLocation()
  const [search] = useSearchParams()
  const catalogues = useCatalogues()
  const { text, change, discard, generation } = useText({ name, version, stored })
  const [checked, setChecked] = useState<Checked | null>(null)
  const [isPublishing, setPublishing] = useState(false)
  const below = search.get('show')
  return (
    <Page
      title={name === null ? 'New runbook' : `Edit ${name}`}
      lead={`${version === null ? '' : `Starts from version ${version}. `}Nothing is stored before you publish; the draft stays in this tab.`}
      actions={
        <Actions
          name={name}
          isReady={text !== stored && mayPublish(checked)}
          onDiscard={discard}
          onPublish={() => setPublishing(true)}
        />
      }
    >
      <OtherVersion name={name} version={version} />
      <Section title="Text">
        {catalogues.data ? (
          <Suspense fallback={<Loading what="the editor" />}>
            <Editor
              key={generation}
              text={text}
              catalogues={catalogues.data}
              onChange={change}
              onChecked={setChecked}
            />
          </Suspense>
        ) : catalogues.error ? (
          <ErrorNote error={catalogues.error} />
        ) : (
          <Loading what="the functions of workers" />
        )}
      </Section>
      {isBelow(below) && <Below what={below} name={checked?.name ?? null} text={text} />}
      {isPublishing && (
        <PublishDialog
          name={name}
          text={text}
          problems={checked?.problems ?? []}
          etag={etag}
          onClose={() => setPublishing(false)}
          onPublished={(published) => {
            dropDraft(name)
            navigate(`/runbooks/${published}?tab=versions`)
          }}
        />
      )}
    </Page>
  )
}

/** The text under the person's hands; a draft of this tab first. */
function useText({ name, version, stored }: Omit<WritingProps, 'etag'>) {
  const [text, setText] = useState(() => draftOf(name)?.text ?? (stored || FIRST_TEXT))
  /** Another one opens the editor again. */
  const [generation, setGeneration] = useState(0)
  const change = useCallback(
    (next: string) => {
      setText(next)
      keepDraft(name, { base: version, text: next })
    },
    [name, version],
  )
  const discard = () => {
    dropDraft(name)
    setText(stored || FIRST_TEXT)
    setGeneration((former) => former + 1)
  }
  return { text, change, discard, generation }
}

interface ActionsProps {
  readonly name: string | null
  /** The text may be published. */
  readonly isReady: boolean
  readonly onDiscard: () => void
  readonly onPublish: () => void
}
function Actions({ name, isReady, onDiscard, onPublish }: ActionsProps) {
  const { mayChange } = useSession()
  const here = name === null ? '/runbooks/new' : `/runbooks/${name}/edit`
  return (
    <>
      {draftOf(name) !== null && <Button onClick={onDiscard}>Discard draft</Button>}
      <Link href={`${here}?show=plan`} className="button">
        Plan
      </Link>
      <Link href={`${here}?show=messages`} className="button">
        Messages
      </Link>
      {mayChange && (
        <>
          <Link href={`${here}?show=query`} className="button">
            Query preview
          </Link>
          <Button kind="primary" disabled={!isReady} onClick={onPublish}>
            Publish …
          </Button>
        </>
      )}
    </>
  )
}

const BELOW = { plan: 'Plan', messages: 'Messages', query: 'Query preview' } as const
const isBelow = (what: string | null): what is keyof typeof BELOW =>
  what !== null && Object.hasOwn(BELOW, what)

interface BelowProps {
  readonly what: keyof typeof BELOW
  /** Null while the text has errors. */
  readonly name: string | null
  readonly text: string
}
function Below({ what, name, text }: BelowProps) {
  if (name === null)
    return (
      <Section title={BELOW[what]}>
        <Empty title="Correct the errors first" />
      </Section>
    )
  if (what === 'messages') return <MessagesOf name={name} yaml={text} />
  return what === 'plan' ? (
    <PlanOf name={name} yaml={text} />
  ) : (
    <PreviewOf name={name} yaml={text} />
  )
}

/** Somebody else published since: said at once, not at the end. */
function OtherVersion({ name, version }: Pick<WritingProps, 'name' | 'version'>) {
  const { data } = useReading(
    'GET /api/runbooks/{name}/versions',
    { params: { name: name ?? '' }, query: { limit: 1 } },
    { isEnabled: name !== null },
  )
  const [newest] = data?.versions ?? []
  if (!newest || version === null || newest.version === version) return null
  return (
    <div className="notice" role="status">
      {newest.publishedBy} has published version {newest.version} since.{' '}
      <Link href={`/runbooks/${name}?tab=versions&from=${version}&to=${newest.version}`}>
        See what it changes
      </Link>
      , then discard the draft to start from it.
    </div>
  )
}

/** Of all workers; read once, so that typing asks for nothing. */
function useCatalogues(): { readonly data: Catalogues | null; readonly error: Error | null } {
  const pages = usePages('GET /api/catalogues', {})
  const { hasNextPage, isFetching, fetchNextPage, data, error } = pages
  const [all, setAll] = useState<Catalogues | null>(null)
  useEffect(() => {
    if (hasNextPage && !isFetching) void fetchNextPage()
    else if (data && !hasNextPage)
      setAll((former) => former ?? data.pages.flatMap(({ catalogues }) => catalogues))
  }, [hasNextPage, isFetching, fetchNextPage, data])
  return { data: all, error }
}
