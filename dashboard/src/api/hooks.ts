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
import { ApiError, type CallOptions, call, request } from './call.ts'
import type { Answer, Change, Reading, RequestOf } from './routes.ts'

const FRESH_MS = 2_000
const RETRIES = 2
const RETRY_MS = 2_000
const RETRY_MS_MAX = 15_000

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      retry: (failures, error) => failures < RETRIES && isPassing(error),
      retryDelay: (failures) => Math.min(RETRY_MS * 2 ** failures, RETRY_MS_MAX),
      // A wall that lost the network continues by itself.
      networkMode: 'always',
    },
    mutations: { retry: false, networkMode: 'always' },
  },
})

/** Worth another attempt: the API is away, busy or restarting. */
const isPassing = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 500)

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
    queryFn: ({ signal }) => call(endpoint, given, { signal }),
    ...(options.everyMs !== undefined && { refetchInterval: options.everyMs }),
    ...(options.isEnabled !== undefined && { enabled: options.isEnabled }),
    ...(options.keepsFormer && { placeholderData: keepPreviousData }),
    ...(options.isLive === false && { staleTime: 'static' as const }),
  })
}

/** With the tag of its state: a change that sends it is refused when the state is another by then. */
export function useTagged<E extends Reading>(
  endpoint: E,
  given: RequestOf<E>,
  options: Pick<ReadingOptions, 'isEnabled'> = {},
) {
  return useQuery<{ readonly answer: Answer<E>; readonly etag: string | undefined }, ApiError>({
    queryKey: [endpoint, given, 'tagged'],
    queryFn: async ({ signal }) => {
      const answer = await request(endpoint, given, { signal })
      const etag = answer.headers.get('etag') ?? undefined
      return { answer: (await answer.json()) as Answer<E>, etag }
    },
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
      return call(endpoint, { ...given, query } as RequestOf<E>, { signal })
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => (page as { readonly next?: string | null }).next ?? null,
    ...(options.everyMs !== undefined && { refetchInterval: options.everyMs }),
    ...(options.isEnabled !== undefined && { enabled: options.isEnabled }),
  })
}

/** A change. All that is shown is read again afterwards, whatever came of it. */
export function useChange<E extends Change>(endpoint: E) {
  const client = useQueryClient()
  return useMutation<Answer<E>, ApiError, RequestOf<E> & { readonly options?: CallOptions }>({
    mutationFn: ({ options, ...given }) =>
      call(endpoint, given as unknown as RequestOf<E>, options),
    onSettled: () => client.invalidateQueries(),
  })
}

/** A dry run: what a change would do. Asked once when the question is put, so that the answer stays what the person decides on. */
const previewOf = <E extends Change>(endpoint: E, given: RequestOf<E>) => ({
  queryKey: ['preview', endpoint, given],
  queryFn: ({ signal }: { readonly signal: AbortSignal }) => call(endpoint, given, { signal }),
  staleTime: 'static' as const,
  gcTime: 0,
  retry: false,
})

export const usePreview = <E extends Change>(endpoint: E, given: RequestOf<E>, isEnabled = true) =>
  useQuery<Answer<E>, ApiError>({ ...previewOf(endpoint, given), enabled: isEnabled })

export const usePreviews = <E extends Change>(endpoint: E, each: readonly RequestOf<E>[]) =>
  useQueries({ queries: each.map((given) => previewOf(endpoint, given)) })
