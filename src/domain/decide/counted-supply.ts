// What may run out, such as licences: the answers of the functions that count it, as a gate reads them.

/** What the answers for a batch's members say about one of them. */
export interface CountedSupply {
  /** Such as the part number of a licence: SPE_E3. */
  readonly name: string
  /** Members who have it. */
  readonly held: number
  /** Free units, as the newest answer says. */
  readonly free: number
  /** When that answer came. */
  readonly countedAt: Date
}

/** Something that members of a batch are to get. */
export interface NeededSupply extends Omit<CountedSupply, 'held'> {
  /** What people call it, in the plural. */
  readonly noun: string
  readonly needed: number
}

/** Somebody without an answer needs one: their step failed, is repeated or has not run. */
export const neededSupply = (
  { held, ...counted }: CountedSupply,
  noun: string,
  members: number,
): NeededSupply => ({ ...counted, noun, needed: members - held })

export const isShort = ({ needed, free }: NeededSupply): boolean => needed > free
