// Stores the addresses of members, in the transactions that write their keys, data and outputs. An address stays when the data changes:
// a person is found by an old one too.

import type { Json } from '../domain/json.ts'
import { addressesIn } from '../domain/member-addresses.ts'
import { arrayParams } from './arrays.ts'
import type { Tx } from './db.ts'

export interface TextsOfMember {
  readonly memberId: number
  readonly texts: readonly Json[]
}

export async function addAddresses(tx: Tx, members: readonly TextsOfMember[]): Promise<void> {
  const rows = members.flatMap(({ memberId, texts }) =>
    addressesIn(...texts).map((address) => ({ address, memberId })),
  )
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
