// The folder of the embedded database. PGlite sets the modes of its files itself, past the umask: 968 of 1,004 files were writable by
// everybody. Here every file and folder is for its owner only, from the moment it exists.
import { mkdirSync } from 'node:fs'
import type { PGlite } from '@electric-sql/pglite'
import { NodeFS } from '@electric-sql/pglite/nodefs'

const OTHERS = 0o077

type StartOptions = Parameters<NodeFS['init']>[1]

/** The part of Emscripten's file system that sets modes. */
interface FolderModule {
  readonly NODEFS: {
    readonly node_ops: {
      mknod(parent: object, name: string, mode: number, device: number): object
      setattr(node: object, attributes: { readonly mode?: number | null }): void
    }
  }
}

export class PrivateFolder extends NodeFS {
  constructor(folder: string) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    super(folder)
  }

  override init(pg: PGlite, options: StartOptions): ReturnType<NodeFS['init']> {
    const narrow = (module: unknown) => narrowModes(module as FolderModule)
    return super.init(pg, { ...options, preRun: [...(options.preRun ?? []), narrow] })
  }
}

function narrowModes({ NODEFS: { node_ops: operations } }: FolderModule): void {
  const { mknod, setattr } = operations
  operations.mknod = (parent, name, mode, device) => mknod(parent, name, mode & ~OTHERS, device)
  operations.setattr = (node, { mode, ...attributes }) =>
    setattr(node, mode == null ? attributes : { ...attributes, mode: mode & ~OTHERS })
}
