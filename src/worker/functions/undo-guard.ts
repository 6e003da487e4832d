// Why a function left something alone: an undo takes back what we set, and nothing that somebody set since.

/** Somebody changed it after us. Nothing was done, and a retry ends the same way. */
export class ChangedSince extends Error {
  override readonly name = 'ChangedSince'
}
