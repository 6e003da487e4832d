// What can go wrong with a data source, in the words that all kinds of sources share. A source throws a fault with the reason as
// its driver or server gave it; source.ts turns it into a coded sentence that names the source and none of its secrets.

export type FaultKind =
  | 'not_configured'
  | 'unreachable'
  | 'sign_in'
  | 'refused'
  | 'truncated'
  | 'dropped'
  | 'columns'
  | 'value'
  | 'file'
  | 'changing'

export class SourceFault extends Error {
  override readonly name = 'SourceFault'
  readonly kind: FaultKind

  constructor(kind: FaultKind, reason: string, cause?: unknown) {
    super(reason, { cause })
    this.kind = kind
  }
}
