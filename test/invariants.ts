import type { Db } from '../src/db/db.ts'
export async function brokenInvariants(_db: Db, _now: Date): Promise<object[]> {
  return []
}
