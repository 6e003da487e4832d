// The filters of the audit. They stand in the address, so that a view can be shared and survives a reload.
import { Link, useSearchParams } from 'wouter'
import { Button } from '../../ui/button.tsx'

const FIELDS = [
  { name: 'actor', label: 'Actor', hint: 'id of the person' },
  { name: 'action', label: 'Action', hint: 'such as batch.hold' },
  { name: 'subject', label: 'Subject', hint: 'such as batch 7' },
] as const
const TIMES = [
  { name: 'from', label: 'From' },
  { name: 'before', label: 'Before' },
] as const
const ALL = [...FIELDS, ...TIMES].map(({ name }) => name)

export function withFilter(search: URLSearchParams, name: string, value: string): string {
  const next = new URLSearchParams(search)
  next.set(name, value)
  return next.toString()
}

export function AuditFilters() {
  const [search, setSearch] = useSearchParams()
  const isFiltered = ALL.some((name) => search.get(name))
  const apply = (form: HTMLFormElement) => {
    const next = new URLSearchParams()
    for (const [name, value] of new FormData(form)) {
      if (typeof value === 'string' && value.trim() !== '') next.set(name, value.trim())
    }
    setSearch(next)
  }
  return (
    <form
      // The fields follow the address: another one is another form.
      key={search.toString()}
      className="filters"
      aria-label="Filter the audit"
      onSubmit={(event) => {
        event.preventDefault()
        apply(event.currentTarget)
      }}
    >
      {FIELDS.map(({ name, label, hint }) => (
        <label key={name} className="field">
          {label}
          <input name={name} defaultValue={search.get(name) ?? ''} placeholder={hint} />
        </label>
      ))}
      {TIMES.map(({ name, label }) => (
        <label key={name} className="field">
          {label}
          <input type="datetime-local" name={name} defaultValue={search.get(name) ?? ''} />
        </label>
      ))}
      <label className="checks">
        <input
          type="checkbox"
          name="reads"
          value="true"
          defaultChecked={search.get('reads') === 'true'}
        />
        Reads of personal data
      </label>
      <Button type="submit">Filter</Button>
      {isFiltered && <Link href="/audit">Clear</Link>}
    </form>
  )
}
