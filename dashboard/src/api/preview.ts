// What a change would do: its dry run, and the state that it was tried on. A preview is taken once for what is asked, never by itself
// again: a live page would try it every second.
import { useQuery } from '@tanstack/react-query'
import { type ApiError, client } from './call.ts'
import type { Answer, Change, RequestOf, Tagged } from './routes.ts'

/** `given` holds `dryRun: true`; null asks for nothing yet. */
export function useTaggedPreview<E extends Change>(endpoint: E, given: RequestOf<E> | null) {
  return useQuery<Tagged<Answer<E>>, ApiError>({
    queryKey: ['tagged preview', endpoint, given],
    queryFn: ({ signal }) => client.tagged(endpoint, given!, { signal }),
    enabled: given !== null,
    staleTime: 'static',
    gcTime: 0,
  })
}
