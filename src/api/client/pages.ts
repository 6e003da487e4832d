// Pages of a list: one part of a request after the other, and the rows in an answer.
import type { Answer, ListEndpoint, ListedRow, RequestOf } from './endpoints.ts'

/** The request for the part that begins at the cursor. */
export const partOf = <E extends ListEndpoint>(
  given: RequestOf<E>,
  limit: number | null,
  cursor: string | null,
): RequestOf<E> => {
  const { query } = given as { readonly query?: object }
  return {
    ...given,
    query: { ...(limit !== null && { limit }), ...query, ...(cursor !== null && { cursor }) },
  }
}

/** The name of the rows, and the rows: a page has one array. */
export const listIn = <E extends ListEndpoint>(
  page: Answer<E>,
): [name: string, rows: readonly ListedRow<E>[]] =>
  Object.entries(page).find(([, value]) => Array.isArray(value)) as [string, ListedRow<E>[]]
