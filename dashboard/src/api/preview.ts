// What a change would do: its dry run, and the state that it was tried on. A preview is taken once for what is asked, never by itself
// again: a live page would try it every second.
import { useQuery } from '@tanstack/react-query'
import { type ApiError, request } from './call.ts'
import type { Answer, Change, RequestOf } from './routes.ts'

interface Preview<E extends Change> {
  readonly answer: Answer<E>
  /** For the change itself: it is refused if the state is another by then. */
  readonly etag: string | undefined
}

/** `given` holds `dryRun: true`; null asks for nothing yet. */
export function useTaggedPreview<E extends Change>(endpoint: E, given: RequestOf<E> | null) {
  return useQuery<Preview<E>, ApiError>({
    queryKey: ['tagged preview', endpoint, given],
    queryFn: async ({ signal }) => {
      const answer = await request(endpoint, given!, { signal })
      const etag = answer.headers.get('etag') ?? undefined
      return { answer: (await answer.json()) as Answer<E>, etag }
    },
    enabled: given !== null,
    staleTime: 'static',
    gcTime: 0,
    retry: false,
  })
}
