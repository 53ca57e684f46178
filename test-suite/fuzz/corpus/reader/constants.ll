%t = type { i32, [2 x i8], <2 x half>, ptr addrspace(3) }
@a = internal addrspace(3) global %t { i32 -1, [2 x i8] c"a\00", <2 x half> splat (half 1.0), ptr addrspace(3) null }, align 16
@b = constant i64 ptrtoint (ptr getelementptr inbounds (%t, ptr addrspacecast (ptr addrspace(3) @a to ptr), i64 0, i32 1) to i64)
@c = alias i32, addrspacecast (ptr addrspace(3) @a to ptr)
@d = global fp128 0xL00000000000000004000000000000000
$k = comdat any
@e = linkonce_odr global i32 undef, comdat($k)
