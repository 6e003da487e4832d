// Which members the heat map shows and an action means. Both stand in the address, with the names of the API's own filters.
import { useMemo } from 'react'
import { useSearchParams } from 'wouter'
import type { Selection as Select } from '../../../members/members-decision.tsx'

const TEXTS = [
  'state',
  'phase',
  'step',
  'failedPhase',
  'failedStep',
  'error',
  'pattern',
  'held',
  'search',
] as const
export type MemberFilter = Partial<
  Record<Exclude<(typeof TEXTS)[number], 'held'>, string> & { held: 'true' | 'false' }
>

/** More are selected by a filter: addresses have an end. */
export const SELECTED_MAX = 200

export function useMemberFilter(): MemberFilter {
  const [params] = useSearchParams()
  const text = params.toString()
  return useMemo(() => {
    const given = new URLSearchParams(text)
    return Object.fromEntries(
      TEXTS.flatMap((name) => (given.get(name) ? [[name, given.get(name)]] : [])),
    ) as MemberFilter
  }, [text])
}

export const isFiltered = (filter: MemberFilter): boolean => Object.keys(filter).length > 0

export interface Selection {
  readonly isAll: boolean
  readonly ids: ReadonlySet<number>
  toggle(memberId: number): void
  selectAll(): void
  clear(): void
}

export function useSelection(): Selection {
  const [params, setParams] = useSearchParams()
  const text = params.get('selected') ?? ''
  return useMemo(() => {
    const ids = new Set(text === 'all' ? [] : text.split(',').filter(Boolean).map(Number))
    const set = (value: string) =>
      setParams(
        (former) => {
          const next = new URLSearchParams(former)
          if (value === '') next.delete('selected')
          else next.set('selected', value)
          return next
        },
        { replace: true },
      )
    return {
      isAll: text === 'all',
      ids,
      toggle: (memberId: number) => {
        const next = new Set(ids)
        if (!next.delete(memberId) && next.size < SELECTED_MAX) next.add(memberId)
        set([...next].join(','))
      },
      selectAll: () => set('all'),
      clear: () => set(''),
    }
  }, [text, setParams])
}

/** The selection of an action: these people, or all that the filter shows. */
export function selectOf({ isAll, ids }: Selection, filter: MemberFilter): Select | null {
  if (!isAll) return ids.size === 0 ? null : { ids: [...ids] }
  if (!isFiltered(filter)) return { all: true }
  const { state, held, ...texts } = filter
  return {
    ...texts,
    ...(state !== undefined && { state: [state] as NonNullable<Select['state']> }),
    ...(held !== undefined && { held: held === 'true' }),
  }
}
