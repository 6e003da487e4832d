// Filters of a list. They stand in the address: a view can be shared, and survives a reload.
import { type ReactNode, useEffect, useId, useState } from 'react'
import { useSearchParams } from 'wouter'

const TYPING_MS = 300

/** The value of one filter, and how to set it; the empty text removes it. */
export function useFilter(name: string): [string, (value: string) => void] {
  const [params, setParams] = useSearchParams()
  const set = (value: string) =>
    setParams(
      (former) => {
        const next = new URLSearchParams(former)
        if (value === '') next.delete(name)
        else next.set(name, value)
        // What was selected among other rows must not be meant by the next action.
        next.delete('selected')
        return next
      },
      { replace: true },
    )
  return [params.get(name) ?? '', set]
}

export const Filters = ({ children }: { readonly children: ReactNode }) => (
  <search className="filters">{children}</search>
)

interface ChoiceProps {
  readonly name: string
  readonly label: string
  /** Value and text; before them stands "Any". */
  readonly options: readonly (readonly [value: string, text: string])[]
  readonly anyText?: string
}
export function ChoiceFilter({ name, label, options, anyText = 'Any' }: ChoiceProps) {
  const [value, set] = useFilter(name)
  const isKnown = value === '' || options.some(([one]) => one === value)
  return (
    <label className="filter">
      <span>{label}</span>
      <select value={value} onChange={(event) => set(event.target.value)}>
        <option value="">{anyText}</option>
        {!isKnown && <option value={value}>{value}</option>}
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}

interface TextProps {
  readonly name: string
  readonly label: string
  readonly hint?: string
}
/** Follows the typing after a moment. */
export function TextFilter({ name, label, hint }: TextProps) {
  const [value, set] = useFilter(name)
  const [typed, setTyped] = useState(value)
  const id = useId()
  useEffect(() => setTyped(value), [value])
  // biome-ignore lint/correctness/useExhaustiveDependencies: only typing starts the timer
  useEffect(() => {
    if (typed === value) return
    const timer = setTimeout(() => set(typed), TYPING_MS)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <label className="filter" htmlFor={id}>
      <span>{label}</span>
      <input
        id={id}
        type="search"
        value={typed}
        placeholder={hint}
        onChange={(event) => setTyped(event.target.value)}
      />
    </label>
  )
}
