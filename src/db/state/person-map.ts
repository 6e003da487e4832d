// Members of any batch by a name or address of theirs, for the map of people between two tenants.
import type { KnownPerson } from '../../domain/decide/person-map.ts'
import type { Tx } from '../connection/db.ts'

export interface FoundPerson extends Omit<KnownPerson, 'people'> {
  readonly runbookName: string
  readonly runbookVersion: number
}

/** An assistant of so many is an address of each of them; the person's own row, found by its key, comes first. */
const PEOPLE_MAX = 10_000

/** Folded keys, addresses or object ids. Members who were removed, or whose data was erased, are nobody. */
export const findPeople = (tx: Tx, identities: readonly string[]): Promise<FoundPerson[]> =>
  tx.query<FoundPerson>(
    `select m.id as member_id, m.status, m.data_json as data, m.worker_data_json as outputs,
            b.runbook_name, b.runbook_version
       from batch_members m join batches b on b.id = m.batch_id
      where m.status <> 'removed' and b.erased_at is null
        and m.id = any (array(select member_id from member_addresses where address = any ($1)
                        union select id from batch_members where key_folded = any ($1)))
      order by m.key_folded = any ($1) desc, m.id limit ${PEOPLE_MAX}`,
    [identities],
  )
