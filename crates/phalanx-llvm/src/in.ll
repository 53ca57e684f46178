define void @f() { call void asm "", "@9a"()
ret void }
