// Chooses what is rehearsed: a version or the draft of this tab, and people from a file or the template's sample row.
import { useState } from 'react'
import { useLocation } from 'wouter'
import { client } from '../../api/call.ts'
import { useChange, useReading } from '../../api/hooks.ts'
import { Button } from '../../ui/button.tsx'
import { ErrorNote } from '../../ui/feedback.tsx'
import { draftOf } from '../runbooks/draft.ts'

const VERSIONS_OFFERED = 100
const DRAFT = 'draft'

interface BeginProps {
  readonly name: string
  readonly offered: readonly string[]
  readonly onChoose: (name: string) => void
}

export function Begin({ name, offered, onChoose }: BeginProps) {
  const [, navigate] = useLocation()
  const draft = draftOf(name)
  const [version, setVersion] = useState(draft ? DRAFT : '')
  const [people, setPeople] = useState<File | null>(null)
  const [faults, setFaults] = useState('')
  const [error, setError] = useState<Error | null>(null)
  const begin = useChange('POST /api/rehearsals')
  const start = async () => {
    setError(null)
    try {
      const yamlContent = version === DRAFT ? draft!.text : await textOf(name, version)
      const memberFile = (await people?.text()) ?? (await templateOf(name))
      const names = faults.split(/[\s,]+/).filter((one) => one !== '')
      begin.mutate(
        { body: { yamlContent, memberFile, faults: names } },
        { onSuccess: ({ id }) => navigate(`/rehearse/${id}`) },
      )
    } catch (problem) {
      setError(problem as Error)
    }
  }
  return (
    <form
      className="begin"
      onSubmit={(event) => {
        event.preventDefault()
        void start()
      }}
    >
      <label className="field">
        Runbook
        <select value={name} onChange={({ target }) => onChoose(target.value)}>
          {[...new Set([...offered, name])].map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
      <VersionChoice name={name} hasDraft={draft !== null} value={version} onChange={setVersion} />
      <PeopleChoice onChange={setPeople} />
      <label className="field">
        Faults (optional)
        <input
          value={faults}
          placeholder="throttling, worker-crash"
          onChange={({ target }) => setFaults(target.value)}
        />
      </label>
      <div className="begin-go">
        <Button type="submit" kind="primary" disabled={begin.isPending}>
          {begin.isPending ? 'Beginning …' : 'Rehearse'}
        </Button>{' '}
      </div>
      {(error ?? begin.error) && <ErrorNote error={(error ?? begin.error)!} />}
    </form>
  )
}

interface PeopleChoiceProps {
  readonly onChange: (people: File | null) => void
}
function PeopleChoice({ onChange }: PeopleChoiceProps) {
  return (
    <label className="field">
      People (CSV; else the sample row)
      <input
        type="file"
        accept=".csv,text/csv"
        onChange={({ target }) => onChange(target.files?.[0] ?? null)}
      />
    </label>
  )
}

interface VersionChoiceProps {
  readonly name: string
  readonly hasDraft: boolean
  readonly value: string
  readonly onChange: (version: string) => void
}
function VersionChoice({ name, hasDraft, value, onChange }: VersionChoiceProps) {
  const { data } = useReading('GET /api/runbooks/{name}/versions', {
    params: { name },
    query: { limit: VERSIONS_OFFERED },
  })
  return (
    <label className="field">
      Text
      <select value={value} onChange={({ target }) => onChange(target.value)}>
        <option value="">active version</option>
        {hasDraft && <option value={DRAFT}>your draft</option>}
        {data?.versions.map(({ version }) => (
          <option key={version} value={version}>
            version {version}
          </option>
        ))}
      </select>
    </label>
  )
}

async function textOf(name: string, version: string): Promise<string> {
  const { yamlContent } =
    version === ''
      ? await client.call('GET /api/runbooks/{name}', { params: { name } })
      : await client.call('GET /api/runbooks/{name}/versions/{version}', {
          params: { name, version },
        })
  return yamlContent
}

async function templateOf(name: string): Promise<string> {
  const given = { params: { name } }
  const template = await client.raw('GET /api/runbooks/{name}/template', given, {
    accept: 'text/csv',
  })
  return template.text()
}
