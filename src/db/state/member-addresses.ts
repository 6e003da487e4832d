// Stores the addresses and object ids of members, in the transactions that write their data and outputs. An address stays when the data changes: a
// person is found by an old one too. The key has its own index: a row for it as well would cost 15 µs per member.
import type { Json } from '../../base/text/json.ts'
import { identitiesIn } from '../../domain/state/member-addresses.ts'
import { foldKey } from '../../domain/state/member-key.ts'
import { arrayParams } from '../connection/arrays.ts'
import type { Tx } from '../connection/db.ts'

export interface TextsOfMember {
  readonly memberId: number
  readonly key: string
  readonly texts: readonly Json[]
}

export async function addAddresses(tx: Tx, members: readonly TextsOfMember[]): Promise<void> {
  const rows = members.flatMap(({ memberId, key, texts }) => {
    const found = identitiesIn(...texts)
    const own = found.length === 0 ? '' : foldKey(key)
    return found.filter((address) => address !== own).map((address) => ({ address, memberId }))
  })
  if (rows.length === 0) return
  await tx.query(
    `insert into member_addresses (address, member_id)
     select address, id from unnest($1::text[], $2::bigint[]) as a (address, id) on conflict do nothing`,
    arrayParams(
      rows,
      (row) => row.address,
      (row) => row.memberId,
    ),
  )
}
