/** Version of the package, for the other side of a connection. `pnpm run version` writes it: a bundle has no `package.json`. */
export const version = "0.1.0"
