// Reading and changing through the API from components. Answers are cached by endpoint and what was asked, and read again when the
// live stream says that they may have changed.
import {
  keepPreviousData,
  QueryClient,
  useInfiniteQuery,
  useMutation,
  useQueries,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { type ApiError, type CallOptions, client } from './call.ts'
import type { Answer, Change, Reading, RequestOf, Tagged } from './routes.ts'

const FRESH_MS = 2_000

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      // The client repeats requests, by one rule for every program.
      retry: false,
      // A wall that lost the network continues by itself.
      networkMode: 'always',
    },
    mutations: { retry: false, networkMode: 'always' },
  },
})

interface ReadingOptions {
  /** Reads again at this interval while the page is visible. */
  readonly everyMs?: number
  readonly isEnabled?: boolean
  /** Shows the former answer while another one is on its way: for filters and pages. */
  readonly keepsFormer?: boolean
  /** False: costly for the server, so it is read at its interval only and not after every event. */
  readonly isLive?: boolean
}

export function useReading<E extends Reading>(
  endpoint: E,
  given: RequestOf<E>,
  options: ReadingOptions = {},
) {
  return useQuery<Answer<E>, ApiError>({
    queryKey: [endpoint, given],
    queryFn: ({ signal }) => client.call(endpoint, given, { signal }),
    ...(options.everyMs !== undefined && { refetchInterval: options.everyMs }),
    ...(options.isEnabled !== undefined && { enabled: options.isEnabled }),
    ...(options.keepsFormer && { placeholderData: keepPreviousData }),
    // A kept answer would stand until the interval has passed: a gate that has long been open.
    ...(options.isLive === false && { staleTime: 'static' as const, gcTime: 0 }),
  })
}

/** With the tag of its state: a change that sends it is refused when the state is another by then. */
export function useTagged<E extends Reading>(
  endpoint: E,
  given: RequestOf<E>,
  options: Pick<ReadingOptions, 'isEnabled'> = {},
) {
  return useQuery<Tagged<Answer<E>>, ApiError>({
    queryKey: [endpoint, given, 'tagged'],
    queryFn: ({ signal }) => client.tagged(endpoint, given, { signal }),
    ...(options.isEnabled !== undefined && { enabled: options.isEnabled }),
  })
}

/** A paged list, page after page. */
export function usePages<E extends Reading>(
  endpoint: E,
  given: RequestOf<E>,
  options: Pick<ReadingOptions, 'isEnabled' | 'everyMs'> = {},
) {
  return useInfiniteQuery({
    queryKey: [endpoint, given, 'pages'],
    queryFn: ({ signal, pageParam }) => {
      const query = {
        ...(given as { query?: object }).query,
        ...(pageParam && { cursor: pageParam }),
      }
      return client.call(endpoint, { ...given, query } as RequestOf<E>, { signal })
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => (page as { readonly next?: string | null }).next ?? null,
    ...(options.everyMs !== undefined && { refetchInterval: options.everyMs }),
    ...(options.isEnabled !== undefined && { enabled: options.isEnabled }),
  })
}

/** A change. All that is shown is read again afterwards, whatever came of it. */
export function useChange<E extends Change>(endpoint: E) {
  const shown = useQueryClient()
  return useMutation<Answer<E>, ApiError, RequestOf<E> & { readonly options?: CallOptions }>({
    mutationFn: ({ options, ...given }) =>
      client.call(endpoint, given as unknown as RequestOf<E>, options),
    onSettled: () => shown.invalidateQueries(),
  })
}

/** A dry run: what a change would do. Asked once when the question is put, so that the answer stays what the person decides on. */
const previewOf = <E extends Change>(endpoint: E, given: RequestOf<E>) => ({
  queryKey: ['preview', endpoint, given],
  queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
    client.call(endpoint, given, { signal }),
  staleTime: 'static' as const,
  gcTime: 0,
})

export const usePreview = <E extends Change>(endpoint: E, given: RequestOf<E>, isEnabled = true) =>
  useQuery<Answer<E>, ApiError>({ ...previewOf(endpoint, given), enabled: isEnabled })

export const usePreviews = <E extends Change>(endpoint: E, each: readonly RequestOf<E>[]) =>
  useQueries({ queries: each.map((given) => previewOf(endpoint, given)) })
