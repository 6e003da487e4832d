// The address of a person's page. The role HelpDesk needs the reference that the search gave.
import type { Answer } from '../../api/routes.ts'

type Found = Answer<'GET /api/members'>['members'][number]

export function personPage({
  batch,
  member,
  reference,
}: Pick<Found, 'batch' | 'member' | 'reference'>): string {
  const page = `/batches/${batch.id}/members/${member.id}`
  return reference === null ? page : `${page}?reference=${reference}`
}
