module oriel

go 1.19
