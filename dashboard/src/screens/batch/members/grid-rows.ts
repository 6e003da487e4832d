// The rows of the heat map: only windows around what is visible are read, whatever the size of the batch. A filtered list is read page
// by page, because its rows have no numbers.
import { useInfiniteQuery, useQueries } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { client } from '../../../api/call.ts'
import type { Answer } from '../../../api/routes.ts'
import { isFiltered, type MemberFilter } from './member-filter.ts'

export type Grid = Answer<'GET /api/batches/{batchId}/grid'>
export type GridRow = Grid['rows'][number]
export type GridColumn = Grid['columns'][number]

const WINDOW_ROWS = 100
/** Windows that the scrollbar only flies over are not read. */
const SETTLE_MS = 80
/** A long filtered list keeps its order while one reads it; its cells stay live. */
const LIVE_PAGES_MAX = 2

export interface GridRows {
  /** Rows that can be scrolled to now. */
  readonly count: number
  readonly total: number
  readonly isTotalExact: boolean
  readonly columns: readonly GridColumn[]
  readonly error: Error | null
  readonly isLoading: boolean
  rowAt(index: number): GridRow | undefined
  retry(): void
}

export function useGridRows(
  batchId: number,
  memberCount: number,
  filter: MemberFilter,
  visible: readonly [first: number, last: number],
): GridRows {
  const filtered = isFiltered(filter)
  const list = useMatches(batchId, filter, filtered)
  const pages = list.data?.pages ?? []
  const listed = pages.reduce((sum, { members }) => sum + members.length, 0)
  const count = filtered ? listed : memberCount
  const windows = useSettled(windowsOf(visible, count))
  const results = useQueries({
    queries: windows.map((at) => {
      const query = filtered
        ? { ids: pages[at]?.members.map(({ id }) => id).join(',') ?? '' }
        : { from: at * WINDOW_ROWS, limit: WINDOW_ROWS }
      return {
        queryKey: ['GET /api/batches/{batchId}/grid', { params: { batchId }, query }],
        queryFn: ({ signal }: { signal: AbortSignal }) =>
          client.call(
            'GET /api/batches/{batchId}/grid',
            { params: { batchId }, query },
            { signal },
          ),
        enabled: !filtered || query.ids !== '',
      }
    }),
  })
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list
  const isAtEnd = filtered && hasNextPage && visible[1] >= listed - WINDOW_ROWS / 2
  useEffect(() => {
    if (isAtEnd && !isFetchingNextPage) void fetchNextPage()
  }, [isAtEnd, isFetchingNextPage, fetchNextPage])
  const byWindow = new Map(windows.map((at, index) => [at, results[index]!]))
  return {
    count,
    total: filtered ? (pages[0]?.total ?? 0) : memberCount,
    isTotalExact: filtered ? (pages[0]?.isTotalExact ?? true) : true,
    columns: results.find(({ data }) => data)?.data?.columns ?? [],
    error: list.error ?? results.find(({ error }) => error)?.error ?? null,
    isLoading: filtered && list.data === undefined && !list.error,
    rowAt: (index) =>
      byWindow.get(Math.floor(index / WINDOW_ROWS))?.data?.rows[index % WINDOW_ROWS],
    retry: () => {
      if (list.error) void list.refetch()
      for (const one of results) if (one.error) void one.refetch()
    },
  }
}

/** Members that match the filter, as pages of ids. */
function useMatches(batchId: number, filter: MemberFilter, isEnabled: boolean) {
  const endpoint = 'GET /api/batches/{batchId}/members'
  return useInfiniteQuery({
    queryKey: [endpoint, batchId, filter],
    queryFn: ({ signal, pageParam }) => {
      const query = { ...filter, limit: WINDOW_ROWS, ...(pageParam && { cursor: pageParam }) }
      return client.call(endpoint, { params: { batchId }, query }, { signal })
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    enabled: isEnabled,
    staleTime: ({ state }) =>
      (state.data?.pages.length ?? 0) > LIVE_PAGES_MAX ? ('static' as const) : 0,
  })
}

function windowsOf([first, last]: readonly [number, number], count: number): readonly number[] {
  if (count === 0) return []
  const from = Math.floor(Math.max(0, first) / WINDOW_ROWS)
  const to = Math.floor(Math.min(count - 1, Math.max(first, last)) / WINDOW_ROWS)
  return Array.from({ length: Math.max(0, to - from) + 1 }, (_, index) => from + index)
}

/** The value once it has not changed for a moment; the first one at once. */
function useSettled(windows: readonly number[]): readonly number[] {
  const text = windows.join(',')
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    if (text === settled) return
    const timer = setTimeout(() => setSettled(text), settled === '' ? 0 : SETTLE_MS)
    return () => clearTimeout(timer)
  }, [text, settled])
  return settled === '' ? [] : settled.split(',').map(Number)
}
